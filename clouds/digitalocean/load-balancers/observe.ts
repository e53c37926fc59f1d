import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { annotationName, isDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import { ANNOTATIONS, UUID } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { shownOf } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { idOf, namesOf } from "#clouds/digitalocean/load-balancers/own.ts";
import {
  findCertificates,
  listLoadBalancers,
  readCertificate,
  readLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import type { DigitalOceanState, TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import { observeTargets } from "#clouds/digitalocean/load-balancers/targets.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Sources } from "#clouds/listed/sources.ts";
import { failureOf } from "#clouds/observation.ts";
import { ok } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** On what load balancers are looked at. */
export interface Observing {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly sources: Sources<Droplet>;
  readonly turn: Turn;
}

/** So many are read one by one; of more there is a list. */
const FEW = 2;

/** Most that one batch reads beyond a list: a wrong account must not become a request for each of its Services. */
const MAX_READS = 10;

/** Observes load balancers, certificates and droplets of a batch of Services: each list once, and whatever is named twice once. */
export async function observeAll(
  questions: readonly LoadBalancerQuestion[],
  observing: Observing,
): Promise<Observation[]> {
  const { config } = observing;
  const isAsked = ({ service, wanted }: LoadBalancerQuestion): boolean =>
    // Of what is disowned nothing is to be known but whether it still says whose it was.
    !isDisowned(service) || (!wanted && config.clusterID !== undefined);
  const asked = questions.filter(isAsked);
  if (asked.length === 0) return questions.map(() => observed(NOTHING));
  const [found, targets] = await Promise.all([
    findBalancers(asked, observing),
    observeTargets(asked, observing),
  ]);
  const balancers = new Map(questions.map((each) => [each, balancersFor(each, found)] as const));
  const certificates = await readCertificates(asked, balancers, observing);
  return questions.map((question) => {
    if (!isAsked(question)) return observed(NOTHING);
    const own = balancers.get(question) ?? ok([]);
    if (own.kind === "fault") return failureOf(own.fault);
    const nodes = question.wanted ? targets(question.nodes) : ok<readonly TargetDroplet[]>([]);
    if (nodes.kind === "fault") return failureOf(nodes.fault);
    const used = question.wanted ? certificatesFor(question.service, own.value, certificates) : ok([]);
    if (used.kind === "fault") return failureOf(used.fault);
    return observed({ balancers: own.value, targets: nodes.value, certificates: used.value });
  });
}

interface Found {
  /** The whole list; undefined where nobody needed one. */
  readonly list: Outcome<readonly LoadBalancer[]> | undefined;
  readonly byId: ReadonlyMap<string, Outcome<LoadBalancer | undefined>>;
}

async function findBalancers(
  asked: readonly LoadBalancerQuestion[],
  { api, turn }: Observing,
): Promise<Found> {
  const ids = new Set(asked.flatMap(({ service }) => idOf(service) ?? []));
  const needsNames = asked.some(({ service, wanted }) => !wanted || idOf(service) === undefined);
  const read = async (some: readonly string[]) => {
    const answers = some.map(
      async (id, index) => [id, index < MAX_READS ? await readLoadBalancer(api, id, turn) : LATER] as const,
    );
    return new Map(await Promise.all(answers));
  };
  if (!needsNames && ids.size <= FEW) {
    const byId = await read([...ids]);
    const isMissing = [...byId.values()].some((each) => each.kind === "ok" && each.value === undefined);
    // One that is gone may have been made anew, and nobody has written that down.
    return { byId, list: isMissing ? await listLoadBalancers(api, turn) : undefined };
  }
  const list = await listLoadBalancers(api, turn);
  if (list.kind === "fault") return { list, byId: new Map() };
  const listed = new Map(list.value.map((balancer) => [balancer.id, ok(balancer)] as const));
  const missing = [...ids].filter((id) => !listed.has(id));
  return { list, byId: new Map([...listed, ...(await read(missing))]) };
}

function balancersFor(
  { service }: LoadBalancerQuestion,
  { list, byId }: Found,
): Outcome<readonly LoadBalancer[]> {
  if (list?.kind === "fault") return list;
  const id = idOf(service);
  const named = id === undefined ? undefined : byId.get(id);
  if (named?.kind === "fault") return named;
  const names = namesOf(service);
  const others = (list?.value ?? []).filter((each) => each.id !== id && names.includes(each.name));
  return ok(named?.value === undefined ? others : [named.value, ...others]);
}

type Certificates = ReadonlyMap<string, Outcome<readonly Certificate[]>>;

/** By id, or by name with `name:` before it. */
async function readCertificates(
  asked: readonly LoadBalancerQuestion[],
  balancers: ReadonlyMap<LoadBalancerQuestion, Outcome<readonly LoadBalancer[]>>,
  { api, turn }: Observing,
): Promise<Certificates> {
  const keys = new Set(
    asked.flatMap((question) => {
      const found = balancers.get(question);
      return question.wanted && found?.kind === "ok" ? certificateKeys(question.service, found.value) : [];
    }),
  );
  const answers = [...keys].map(async (key): Promise<readonly [string, Outcome<readonly Certificate[]>]> => {
    if (key.startsWith(NAME)) return [key, await findCertificates(api, key.slice(NAME.length), turn)];
    const one = await readCertificate(api, key, turn);
    return [key, one.kind === "fault" ? one : ok(one.value === undefined ? [] : [one.value])];
  });
  return new Map(await Promise.all(answers));
}

function certificatesFor(
  service: Service,
  balancers: readonly LoadBalancer[],
  certificates: Certificates,
): Outcome<readonly Certificate[]> {
  const found = new Map<string, Certificate>();
  for (const key of certificateKeys(service, balancers)) {
    const answer = certificates.get(key) ?? ok([]);
    if (answer.kind === "fault") return answer;
    for (const certificate of answer.value) found.set(certificate.id, certificate);
  }
  return ok([...found.values()]);
}

/** Those that the annotations name, and the one that the load balancer has in place of it. */
function certificateKeys({ metadata }: Service, [balancer]: readonly LoadBalancer[]): readonly string[] {
  const id = metadata.annotations?.[annotationName("certificate-id")]?.trim() ?? "";
  const read = ANNOTATIONS["certificate-name"](
    metadata.annotations?.[annotationName("certificate-name")]?.trim() ?? "",
  );
  if (!UUID.test(id)) return read.ok ? [`${NAME}${read.value}`] : [];
  const shown = shownOf(balancer);
  return shown === undefined || shown === id || !UUID.test(shown) ? [id] : [id, shown];
}

function observed(state: DigitalOceanState): Observation {
  return { kind: "observed", state };
}

const NAME = "name:";
const NOTHING: DigitalOceanState = { balancers: [], targets: [], certificates: [] };

const LATER: Outcome<never> = {
  kind: "fault",
  fault: {
    code: "Unavailable",
    message: `no list shows it, and this batch has read ${MAX_READS} load balancers singly: it is looked for again`,
  },
};

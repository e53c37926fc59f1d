import { isIPv4, isIPv6 } from "node:net";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { type Droplet, parseProviderID } from "#clouds/digitalocean/droplet.ts";
import {
  ANNOTATIONS,
  formatAnnotationName,
  isDisowned,
  UUID,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { getCertificateId } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { getAnnotatedId, listNames } from "#clouds/digitalocean/load-balancers/ownership.ts";
import {
  findCertificates,
  listLoadBalancers,
  readCertificate,
  readLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import type { DigitalOceanState, TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { buildQuery, type Queried, type Query } from "#clouds/listed/query.ts";
import { type Resolution, resolve } from "#clouds/listed/resolve.ts";
import type { Sources } from "#clouds/listed/sources.ts";
import { ok, toFailure } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Up to this many are read one by one; more are listed. */
const FEW = 2;

/**
 * Maximum reads per batch beyond a list: a wrong account must not cause a request for each of its Services.
 */
const MAX_READS = 10;

/**
 * Observes load balancers, certificates and droplets for a batch of Services. Each list, and each resource
 * named twice, is read once.
 */
export async function observeAll(
  questions: readonly LoadBalancerQuestion[],
  context: ObserveContext,
): Promise<Observation[]> {
  const { config } = context;
  const needsRead = ({ service, wanted }: LoadBalancerQuestion): boolean =>
    // For a disowned load balancer only its ownership tags matter.
    !isDisowned(service) || (!wanted && config.clusterID !== undefined);
  const openQuestions = questions.filter(needsRead);
  if (openQuestions.length === 0) return questions.map(() => buildObservation(NOTHING));
  const [found, targets] = await Promise.all([
    findBalancers(openQuestions, context),
    observeTargets(openQuestions, context),
  ]);
  const balancers = new Map(questions.map((each) => [each, selectBalancers(each, found)] as const));
  const certificates = await readCertificates(openQuestions, balancers, context);
  return questions.map((question) => {
    if (!needsRead(question)) return buildObservation(NOTHING);
    const ownBalancers = balancers.get(question) ?? ok([]);
    if (ownBalancers.kind === "fault") return toFailure(ownBalancers.fault);
    const nodes = question.wanted ? targets(question.nodes) : ok<readonly TargetDroplet[]>([]);
    if (nodes.kind === "fault") return toFailure(nodes.fault);
    const used = question.wanted
      ? selectCertificates(question.service, ownBalancers.value, certificates)
      : ok([]);
    if (used.kind === "fault") return toFailure(used.fault);
    return buildObservation({
      balancers: ownBalancers.value,
      targets: nodes.value,
      certificates: used.value,
    });
  });
}

interface FoundBalancers {
  /** The complete list; undefined if it was not needed. */
  readonly list: Outcome<readonly LoadBalancer[]> | undefined;
  readonly byId: ReadonlyMap<string, Outcome<LoadBalancer | undefined>>;
}

async function findBalancers(
  openQuestions: readonly LoadBalancerQuestion[],
  { api, callContext }: ObserveContext,
): Promise<FoundBalancers> {
  const ids = new Set(openQuestions.flatMap(({ service }) => getAnnotatedId(service) ?? []));
  const needsNames = openQuestions.some(
    ({ service, wanted }) => !wanted || getAnnotatedId(service) === undefined,
  );
  const read = async (some: readonly string[]) => {
    const answers = some.map(
      async (id, index) =>
        [id, index < MAX_READS ? await readLoadBalancer(api, id, callContext) : DEFERRED_READ] as const,
    );
    return new Map(await Promise.all(answers));
  };
  if (!needsNames && ids.size <= FEW) {
    const byId = await read([...ids]);
    const isMissing = [...byId.values()].some((each) => each.kind === "ok" && each.value === undefined);
    // A missing one may have been created again without its id being recorded.
    return { byId, list: isMissing ? await listLoadBalancers(api, callContext) : undefined };
  }
  const list = await listLoadBalancers(api, callContext);
  if (list.kind === "fault") return { list, byId: new Map() };
  const listed = new Map(list.value.map((balancer) => [balancer.id, ok(balancer)] as const));
  const missing = [...ids].filter((id) => !listed.has(id));
  return { list, byId: new Map([...listed, ...(await read(missing))]) };
}

function selectBalancers(
  { service }: LoadBalancerQuestion,
  { list, byId }: FoundBalancers,
): Outcome<readonly LoadBalancer[]> {
  if (list?.kind === "fault") return list;
  const id = getAnnotatedId(service);
  const annotated = id === undefined ? undefined : byId.get(id);
  if (annotated?.kind === "fault") return annotated;
  const names = listNames(service);
  const others = (list?.value ?? []).filter((each) => each.id !== id && names.includes(each.name));
  return ok(annotated?.value === undefined ? others : [annotated.value, ...others]);
}

type Certificates = ReadonlyMap<string, Outcome<readonly Certificate[]>>;

/** By id, or by name with the prefix `name:`. */
async function readCertificates(
  openQuestions: readonly LoadBalancerQuestion[],
  balancers: ReadonlyMap<LoadBalancerQuestion, Outcome<readonly LoadBalancer[]>>,
  { api, callContext }: ObserveContext,
): Promise<Certificates> {
  const keys = new Set(
    openQuestions.flatMap((question) => {
      const found = balancers.get(question);
      return question.wanted && found?.kind === "ok"
        ? listCertificateKeys(question.service, found.value)
        : [];
    }),
  );
  const answers = [...keys].map(async (key): Promise<readonly [string, Outcome<readonly Certificate[]>]> => {
    if (key.startsWith(NAME)) return [key, await findCertificates(api, key.slice(NAME.length), callContext)];
    const certificate = await readCertificate(api, key, callContext);
    return [
      key,
      certificate.kind === "fault"
        ? certificate
        : ok(certificate.value === undefined ? [] : [certificate.value]),
    ];
  });
  return new Map(await Promise.all(answers));
}

function selectCertificates(
  service: Service,
  balancers: readonly LoadBalancer[],
  certificates: Certificates,
): Outcome<readonly Certificate[] | undefined> {
  const found = new Map<string, Certificate>();
  for (const key of listCertificateKeys(service, balancers)) {
    const answer = certificates.get(key) ?? ok([]);
    // The Service is rejected for that, and its targets still follow the nodes.
    if (answer.kind === "fault" && answer.fault.code === "Denied") return ok(undefined);
    if (answer.kind === "fault") return answer;
    for (const certificate of answer.value) found.set(certificate.id, certificate);
  }
  return ok([...found.values()]);
}

/** The certificates that the annotations name, and the one that the load balancer uses in place of it. */
function listCertificateKeys({ metadata }: Service, [balancer]: readonly LoadBalancer[]): readonly string[] {
  const id = metadata.annotations?.[formatAnnotationName("certificate-id")]?.trim() ?? "";
  const read = ANNOTATIONS["certificate-name"](
    metadata.annotations?.[formatAnnotationName("certificate-name")]?.trim() ?? "",
  );
  if (!UUID.test(id)) return read.ok ? [`${NAME}${read.value}`] : [];
  const currentId = getCertificateId(balancer);
  return currentId === undefined || currentId === id || !UUID.test(currentId) ? [id] : [id, currentId];
}

function buildObservation(state: DigitalOceanState): Observation {
  return { kind: "observed", state };
}

const NAME = "name:";

const NOTHING: DigitalOceanState = { balancers: [], targets: [], certificates: [] };

const DEFERRED_READ: Outcome<never> = {
  kind: "fault",
  fault: {
    code: "Unavailable",
    message: `no list shows it, and this batch has read ${MAX_READS} load balancers singly: the next batch looks for it again`,
  },
};

/** Returns the droplets of nodes; a fault if the API as a whole is unavailable. */
type Targets = (nodes: readonly TargetNode[]) => Outcome<readonly TargetDroplet[]>;

/**
 * Finds the droplets of all target nodes of a batch of Services, as the node controller does: from one list,
 * and only droplets of the cluster. A tenant controls what a node says about itself.
 */
async function observeTargets(
  questions: readonly LoadBalancerQuestion[],
  { sources, callContext }: ObserveContext,
): Promise<Targets> {
  const nodes = new Map<string, Queried>();
  for (const { nodes: serviceNodes, wanted: isWanted } of questions)
    if (isWanted) for (const node of serviceNodes) nodes.set(formatTargetKey(node), toQueried(node));
  if (nodes.size === 0) return () => ok([]);
  const queries = new Map([...nodes.values()].map((node) => [node, buildQuery(node, parseProviderID)]));
  const resolutions = await resolve(queries, sources, callContext);
  const targets = new Map<string, TargetDroplet>();
  let failure: Fault | undefined;
  for (const [key, node] of nodes) {
    const resolution = resolutions.get(node);
    if (resolution?.kind === "fault" && isApiError(resolution.fault)) failure ??= resolution.fault;
    targets.set(key, buildTarget(node.metadata.name, queries.get(node), resolution));
  }
  // If no node is known, the Service is not decided on.
  const isUnavailable =
    failure !== undefined && [...targets.values()].every(({ kind }) => kind === "unknown");
  return (serviceNodes) =>
    isUnavailable && failure !== undefined && serviceNodes.length > 0
      ? { kind: "fault", fault: failure }
      : ok(serviceNodes.flatMap((node) => targets.get(formatTargetKey(node)) ?? []));
}

function toQueried({ name, providerID }: TargetNode): Queried {
  return { metadata: { name }, spec: { providerID } };
}

function formatTargetKey({ name, providerID = "" }: TargetNode): string {
  return `${name} ${providerID}`;
}

function buildTarget(
  node: string,
  query: Query | undefined,
  resolution: Resolution<Droplet> | undefined,
): TargetDroplet {
  const id = query?.kind === "id" ? query.id : undefined;
  if (resolution === undefined) return { kind: "unknown", node, id };
  switch (resolution.kind) {
    case "machine":
      return buildDropletTarget(node, resolution.machine);
    case "absent":
      return { kind: "absent", node };
    case "fault":
      return isApiError(resolution.fault)
        ? { kind: "unknown", node, id }
        : { kind: "not-ours", node, message: `node ${node}: ${resolution.fault.message}` };
  }
}

function buildDropletTarget(node: string, { id, networks }: Droplet): TargetDroplet {
  const { v4 = [], v6 = [] } = networks ?? {};
  return {
    kind: "droplet",
    node,
    id,
    hasPublicV4: v4.some(({ type, ip_address: ip }) => type === "public" && isIPv4(ip)),
    hasPublicV6: v6.some(({ type, ip_address: ip }) => type === "public" && isIPv6(ip)),
    hasPrivateV4: v4.some(({ type, ip_address: ip }) => type === "private" && isIPv4(ip)),
  };
}

/** Whether the API is the cause, not the node. */
function isApiError({ code }: Fault): boolean {
  return code === "Throttled" || code === "Unavailable" || code === "Aborted" || code === "Denied";
}

/** Inputs of an observation of load balancers. */
interface ObserveContext {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly sources: Sources<Droplet>;
  readonly callContext: CallContext;
}

import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import { isDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import { shownOf } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { desiredOf } from "#clouds/digitalocean/load-balancers/desired.ts";
import { idOf, ownOf } from "#clouds/digitalocean/load-balancers/own.ts";
import {
  findCertificates,
  readCertificate,
  readLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import { type Reading, readService } from "#clouds/digitalocean/load-balancers/wanted.ts";
import { requestFor } from "#clouds/digitalocean/service-validation/request.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";
import { wantsLoadBalancer } from "#core/service/needs-work.ts";
import type { ValidationQuestion, Verdict } from "#core/service/validation.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

/** What the question is answered from. */
export interface Validating {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly turn: Turn;
}

/** Whether a Service can have the load balancer that it asks for, as far as that can be told without its nodes. A fault: nobody answered. */
export async function validate(
  { service, before }: ValidationQuestion,
  validating: Validating,
): Promise<Outcome<Verdict>> {
  if (!wantsLoadBalancer(service)) return allowed("it wants no load balancer of ours");
  if (isDisowned(service)) return allowed("its load balancer is left to somebody else");
  const settings = { ...DEFAULT_SETTINGS, cloud: validating.config };
  const isAsBefore =
    before !== undefined &&
    wantsLoadBalancer(before) &&
    desiredOf(before, settings) === desiredOf(service, settings);
  if (isAsBefore) return allowed("it asks for what it asked for before");
  const read = readService(service);
  if (read.kind === "refused") return ok({ kind: "denied", problem: read.problem });
  const reading = withNodePorts(read.value);
  const own = await ownBalancer(reading, validating);
  if (own.kind === "fault") return verdictOn(own.fault);
  if (own.value.kind === "refused") return ok({ kind: "denied", problem: own.value.problem });
  const there = own.value.kind === "own" ? own.value.balancer : undefined;
  const certificates = await certificatesOf(reading, there, validating);
  if (certificates.kind === "fault") return verdictOn(certificates.fault);
  const request = requestFor(reading, {
    ...{ there, certificates: certificates.value, configuration: validating.config },
  });
  if (request.kind === "refused") return ok({ kind: "denied", problem: request.problem });
  return send(request.value, there?.id, validating);
}

/** Ports that the API server is to give yet: whichever they will be, they do. */
function withNodePorts({ service, ...rest }: Reading): Reading {
  const { ports = [] } = service.spec;
  const given = ports.map((port, index) => ({ ...port, nodePort: port.nodePort || FIRST_NODE_PORT + index }));
  return { ...rest, service: { ...service, spec: { ...service.spec, ports: given } } };
}

const FIRST_NODE_PORT = 30_000;

async function ownBalancer(
  { service }: Reading,
  { config, api, turn }: Validating,
): Promise<Outcome<ReturnType<typeof ownOf>>> {
  const id = idOf(service);
  if (id === undefined) return ok({ kind: "none" });
  const found = await readLoadBalancer(api, id, turn);
  if (found.kind === "fault") return found;
  return ok(ownOf(service, found.value === undefined ? [] : [found.value], config));
}

async function certificatesOf(
  { annotations }: Reading,
  there: LoadBalancer | undefined,
  { api, turn }: Validating,
): Promise<Outcome<readonly Certificate[]>> {
  const { "certificate-id": id, "certificate-name": name } = annotations;
  if (id === undefined && name !== undefined) return findCertificates(api, name, turn);
  if (id === undefined) return ok([]);
  const found: Certificate[] = [];
  for (const each of new Set([id, shownOf(there) ?? id])) {
    const read = await readCertificate(api, each, turn);
    if (read.kind === "fault") return read;
    if (read.value !== undefined) found.push(read.value);
  }
  return ok(found);
}

async function send(
  body: Body,
  id: string | undefined,
  { api, turn }: Validating,
): Promise<Outcome<Verdict>> {
  const request =
    id === undefined
      ? ({
          method: "POST",
          operation: "loadBalancers_validate",
          template: "POST /v2/load_balancers",
        } as const)
      : ({
          method: "PUT",
          operation: "loadBalancers_validate",
          template: "PUT /v2/load_balancers/{id}",
        } as const);
  const path = id === undefined ? "/v2/load_balancers" : `/v2/load_balancers/${id}`;
  const answer = await api.send({ ...request, path, body }, turn);
  if (answer.kind === "ok") return allowed("the API has nothing against it");
  const { status = 0, message } = answer.fault;
  if (status < 400 || status >= 500 || OF_OTHERS.has(status)) return verdictOn(answer.fault);
  return ok({ kind: "denied", problem: { code: "LoadBalancerRefused", detail: message } });
}

/** What says nothing about the Service: credentials, rights, quotas, a load balancer that has just gone. */
const OF_OTHERS: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 429]);

/** Where the API answers that it cannot, that is nothing against the Service; where it does not answer nobody knows. */
function verdictOn({ status = 0, code, message, ...rest }: Fault): Outcome<Verdict> {
  const isAnswered = status >= 400 && status !== 408;
  if (isAnswered || code === "Throttled" || code === "Denied") return allowed(message);
  return { kind: "fault", fault: { ...rest, code, message } };
}

function allowed(because: string): Outcome<Verdict> {
  return ok({ kind: "allowed", because });
}

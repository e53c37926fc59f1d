import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import { isDisowned } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { Body } from "#clouds/digitalocean/load-balancers/body.ts";
import { getCertificateId } from "#clouds/digitalocean/load-balancers/certificate.ts";
import { describeDesired } from "#clouds/digitalocean/load-balancers/desired-hash.ts";
import { readService, type ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { findLoadBalancer, getAnnotatedId } from "#clouds/digitalocean/load-balancers/find-load-balancer.ts";
import {
  findCertificates,
  readCertificate,
  readLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import { buildRequest } from "#clouds/digitalocean/service-validation/request.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";
import { needsLoadBalancer } from "#core/service/needs-work.ts";
import type { ValidationQuestion, ValidationResult } from "#core/service/validation.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

/** Inputs of a validation. */
export interface ValidationContext {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly callContext: CallContext;
}

/**
 * Validates whether a Service can have the load balancer that it requests, as far as that is known without
 * its nodes. A fault means that there was no answer.
 */
export async function validate(
  { service, before: previous }: ValidationQuestion,
  context: ValidationContext,
): Promise<Outcome<ValidationResult>> {
  if (!needsLoadBalancer(service)) return allow("it wants no load balancer of ours");
  if (isDisowned(service)) return allow("its load balancer is left to another owner");
  const settings = { ...DEFAULT_SETTINGS, cloud: context.config };
  const isUnchanged =
    previous !== undefined &&
    needsLoadBalancer(previous) &&
    describeDesired(previous, settings) === describeDesired(service, settings);
  if (isUnchanged) return allow("its request is unchanged");
  const read = readService(service);
  if (read.kind === "refused") return ok({ kind: "denied", issue: read.issue });
  const reading = fillNodePorts(read.value);
  const match = await readOwnBalancer(reading, context);
  if (match.kind === "fault") return toValidationResult(match.fault);
  if (match.value.kind === "refused") return ok({ kind: "denied", issue: match.value.issue });
  const current = match.value.kind === "own" ? match.value.balancer : undefined;
  const certificates = await readCertificates(reading, current, context);
  if (certificates.kind === "fault") return toValidationResult(certificates.fault);
  const request = buildRequest(reading, {
    ...{ current, certificates: certificates.value, configuration: context.config },
  });
  if (request.kind === "refused") return ok({ kind: "denied", issue: request.issue });
  return send(request.value, current?.id, context);
}

/** Fills in node ports that the API server will assign later; any port will do. */
function fillNodePorts({ service, ...rest }: ServiceReading): ServiceReading {
  const { ports = [] } = service.spec;
  const portsWithNodePorts = ports.map((port, index) => ({
    ...port,
    nodePort: port.nodePort || FIRST_NODE_PORT + index,
  }));
  return { ...rest, service: { ...service, spec: { ...service.spec, ports: portsWithNodePorts } } };
}

const FIRST_NODE_PORT = 30_000;

async function readOwnBalancer(
  { service }: ServiceReading,
  { config, api, callContext }: ValidationContext,
): Promise<Outcome<ReturnType<typeof findLoadBalancer>>> {
  const id = getAnnotatedId(service);
  if (id === undefined) return ok({ kind: "none" });
  const found = await readLoadBalancer(api, id, callContext);
  if (found.kind === "fault") return found;
  return ok(findLoadBalancer(service, found.value === undefined ? [] : [found.value], config));
}

async function readCertificates(
  { annotations }: ServiceReading,
  current: LoadBalancer | undefined,
  { api, callContext }: ValidationContext,
): Promise<Outcome<readonly Certificate[]>> {
  const { "certificate-id": id, "certificate-name": name } = annotations;
  if (id === undefined && name !== undefined) return findCertificates(api, name, callContext);
  if (id === undefined) return ok([]);
  const found: Certificate[] = [];
  for (const each of new Set([id, getCertificateId(current) ?? id])) {
    const read = await readCertificate(api, each, callContext);
    if (read.kind === "fault") return read;
    if (read.value !== undefined) found.push(read.value);
  }
  return ok(found);
}

async function send(
  body: Body,
  id: string | undefined,
  { api, callContext }: ValidationContext,
): Promise<Outcome<ValidationResult>> {
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
  const answer = await api.send({ ...request, path, body }, callContext);
  if (answer.kind === "ok") return allow("the API has nothing against it");
  const { status = 0, message } = answer.fault;
  if (status < 400 || status >= 500 || UNRELATED_STATUSES.has(status))
    return toValidationResult(answer.fault);
  return ok({ kind: "denied", issue: { code: "LoadBalancerRefused", detail: message } });
}

/** Statuses that say nothing about the Service: credentials, rights, quotas, a load balancer that is gone. */
const UNRELATED_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 408, 409, 429]);

/**
 * An answer that the API is unable to validate does not count against the Service; without an answer the
 * result is unknown.
 */
function toValidationResult({ status = 0, code, message, ...rest }: Fault): Outcome<ValidationResult> {
  const isAnswered = status >= 400 && status !== 408;
  if (isAnswered || code === "Throttled" || code === "Denied") return allow(message);
  return { kind: "fault", fault: { ...rest, code, message } };
}

function allow(reason: string): Outcome<ValidationResult> {
  return ok({ kind: "allowed", because: reason });
}

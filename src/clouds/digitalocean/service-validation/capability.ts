import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import {
  type AnnotationSuffix,
  formatAnnotationName,
  isDisowned,
  type LoadBalancerType,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { type Body, buildCreateBody, buildReplaceBody } from "#clouds/digitalocean/load-balancers/body.ts";
import { getCertificateId, selectCertificate } from "#clouds/digitalocean/load-balancers/certificate.ts";
import {
  buildDesiredState,
  describeDesired,
  readService,
  type ServiceReading,
} from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { type Kind, selectNetworkStack } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { type Built, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import {
  findLoadBalancer,
  formatDefaultName,
  getAnnotatedId,
} from "#clouds/digitalocean/load-balancers/ownership.ts";
import {
  findCertificates,
  readCertificate,
  readLoadBalancer,
} from "#clouds/digitalocean/load-balancers/requests.ts";
import { isAllowed, type LoadBalancerConfiguration } from "#clouds/digitalocean/load-balancers/state.ts";
import { createCalls } from "#clouds/digitalocean/requests.ts";
import type { Api } from "#clouds/http/api.ts";
import type { Budget } from "#clouds/http/budget.ts";
import { answerInOrder } from "#clouds/http/capability-calls.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildInvalid, ok, toObservation } from "#clouds/outcome.ts";
import type { Observation } from "#core/capability.ts";
import { needsLoadBalancer } from "#core/service/needs-work.ts";
import { ValidationQuestion, type ValidationResult } from "#core/service/validation.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";

/** Dependencies that the validation of Services shares with the rest of a cluster's cloud. */
export interface ValidationDependencies {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly budget: Budget;
}

/**
 * Creates the capability that checks whether Services can have the load balancers that they request; it
 * changes nothing.
 */
export function createServiceValidation({ config, api, budget }: ValidationDependencies): ClosableCapability {
  const calls = createCalls(budget, TIMES_RESERVE);
  return {
    observe: (questions, call) =>
      calls.observe(questions, call, (callContext) =>
        answerInOrder(questions, (question) => observe(question, config, api, callContext)),
      ),
    act: (action, call) =>
      calls.act(action, call, async () => ({
        answer: buildInvalid(`serviceValidation has no action ${action.action}`),
      })),
    close() {},
  };
}

/**
 * Half of the hour's quota: frequent writes of Services in one cluster must not use up what nodes and load
 * balancers of all clusters need.
 */
const TIMES_RESERVE = 5;

async function observe(
  question: unknown,
  config: DigitalOceanCloudConfig,
  api: Api,
  callContext: CallContext,
): Promise<Observation> {
  const { success, data } = ValidationQuestion.safeParse(question);
  if (!success) return buildInvalid("the question is not about a Service");
  return toObservation(await validate(data, { config, api, callContext }));
}

/** Inputs of a validation. */
interface ValidationContext {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly callContext: CallContext;
}

/**
 * Validates whether a Service can have the load balancer that it requests, as far as that is known without
 * its nodes. A fault means that there was no answer.
 */
async function validate(
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

/** Inputs of the request apart from the Service. */
interface RequestContext {
  /** The Service's load balancer; undefined if it has none yet. */
  readonly current: LoadBalancer | undefined;
  readonly certificates: readonly Certificate[];
  readonly configuration: LoadBalancerConfiguration;
}

/**
 * Builds the request that the API would get for a Service, without targets and for validation only, or why
 * none can be built.
 */
function buildRequest(
  reading: ServiceReading,
  { current, certificates, configuration }: RequestContext,
): Built<Body> {
  const { service, annotations } = reading;
  const kind = selectKind(reading, current, configuration);
  const certificate =
    kind.type === "REGIONAL"
      ? selectCertificate(reading, certificates, current, configuration.allow.certificates)
      : NO_CERTIFICATE;
  if (certificate.kind === "refused") return certificate;
  const desired = buildDesiredState(reading, kind.type, certificate.value.id);
  if (desired.kind === "refused") return desired;
  const target = { ...desired.value, name: annotations.name ?? formatDefaultName(service), droplet_ids: [] };
  if (current !== undefined)
    return {
      kind: "built",
      value: { ...buildReplaceBody(current, target, current.tags), validate_only: true },
    };
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip)) return rejectNotAllowed("ip", reading);
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet))
    return rejectNotAllowed("subnet-uuid", reading);
  const stack = selectNetworkStack(kind, [], annotations["network-stack"], service);
  if ("issue" in stack) return reject(stack.issue);
  // The nodes' addresses are unknown here.
  const isStackUnknown = kind.type === "REGIONAL_NETWORK" && annotations["network-stack"] === undefined;
  const fixedSettings = {
    ...{ region, ...kind, network_stack: isStackUnknown ? "IPV4" : stack.stack },
    ...{ vpc_uuid: vpc, subnet_uuid: subnet, ip, tags: [] },
  };
  return { kind: "built", value: { ...buildCreateBody(fixedSettings, target), validate_only: true } };
}

function selectKind(
  { annotations }: ServiceReading,
  current: LoadBalancer | undefined,
  { defaultLoadBalancerType }: LoadBalancerConfiguration,
): Kind {
  const { type = defaultLoadBalancerType, network = "EXTERNAL" } = annotations;
  if (current === undefined) return { type, network };
  // The type is fixed at creation: a Warning reports a different request, and the rest is accepted.
  const currentType: LoadBalancerType = current.type === "REGIONAL_NETWORK" ? "REGIONAL_NETWORK" : "REGIONAL";
  return { type: currentType, network: current.network === "INTERNAL" ? "INTERNAL" : "EXTERNAL" };
}

function rejectNotAllowed(suffix: AnnotationSuffix, { service: { metadata } }: ServiceReading): Built<never> {
  const field = formatAnnotationName(suffix);
  const value = metadata.annotations?.[field];
  return reject({ code: "NotAllowed", field, ...(value === undefined ? {} : { value }) });
}

const NO_CERTIFICATE = { kind: "built", value: { id: undefined, isRenewed: false } } as const;

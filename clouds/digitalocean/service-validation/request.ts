import { formatAnnotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type {
  AnnotationSuffix,
  LoadBalancerType,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { type Body, buildCreateBody, buildReplaceBody } from "#clouds/digitalocean/load-balancers/body.ts";
import { selectCertificate } from "#clouds/digitalocean/load-balancers/certificate.ts";
import {
  isAllowed,
  type LoadBalancerConfiguration,
} from "#clouds/digitalocean/load-balancers/configuration.ts";
import { buildDesiredState, type ServiceReading } from "#clouds/digitalocean/load-balancers/desired-state.ts";
import { type Kind, selectNetworkStack } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import { type Built, reject } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import { formatDefaultName } from "#clouds/digitalocean/load-balancers/ownership.ts";

/** Inputs of the request apart from the Service. */
export interface RequestContext {
  /** The Service's load balancer; undefined if it has none yet. */
  readonly current: LoadBalancer | undefined;
  readonly certificates: readonly Certificate[];
  readonly configuration: LoadBalancerConfiguration;
}

/**
 * Builds the request that the API would get for a Service, without targets and for validation only, or why
 * none can be built.
 */
export function buildRequest(
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

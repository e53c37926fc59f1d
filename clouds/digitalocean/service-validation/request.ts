import { annotationName } from "#clouds/digitalocean/load-balancers/annotations/names.ts";
import type {
  AnnotationSuffix,
  LoadBalancerType,
} from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { Certificate, LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { defaultNameOf } from "#clouds/digitalocean/load-balancers/belonging.ts";
import { type Body, creation, replacement } from "#clouds/digitalocean/load-balancers/body.ts";
import { certificateOf } from "#clouds/digitalocean/load-balancers/certificate.ts";
import {
  isAllowed,
  type LoadBalancerConfiguration,
} from "#clouds/digitalocean/load-balancers/configuration.ts";
import { type Kind, stackOf } from "#clouds/digitalocean/load-balancers/eligible.ts";
import { type Built, refused } from "#clouds/digitalocean/load-balancers/forwarding.ts";
import { type Reading, wantedOf } from "#clouds/digitalocean/load-balancers/wanted.ts";

/** On what the request depends beside the Service. */
export interface Known {
  /** The Service's load balancer; undefined where it has none yet. */
  readonly there: LoadBalancer | undefined;
  readonly certificates: readonly Certificate[];
  readonly configuration: LoadBalancerConfiguration;
}

/** What the API would be sent for a Service, without a node, and to be looked at alone; or why nothing could be sent. */
export function requestFor(reading: Reading, { there, certificates, configuration }: Known): Built<Body> {
  const { service, annotations } = reading;
  const kind = kindOf(reading, there, configuration);
  const certificate =
    kind.type === "REGIONAL"
      ? certificateOf(reading, certificates, there, configuration.allow.certificates)
      : NO_CERTIFICATE;
  if (certificate.kind === "refused") return certificate;
  const wanted = wantedOf(reading, kind.type, certificate.value.id);
  if (wanted.kind === "refused") return wanted;
  const target = { ...wanted.value, name: annotations.name ?? defaultNameOf(service), droplet_ids: [] };
  if (there !== undefined)
    return { kind: "built", value: { ...replacement(there, target, there.tags), validate_only: true } };
  const { ip, "subnet-uuid": subnet } = annotations;
  const { allow, region, vpc } = configuration;
  if (ip !== undefined && !isAllowed(allow.ips, ip)) return notAllowed("ip", reading);
  if (subnet !== undefined && !isAllowed(allow.subnets, subnet)) return notAllowed("subnet-uuid", reading);
  const stack = stackOf(kind, [], annotations["network-stack"], service);
  if ("problem" in stack) return refused(stack.problem);
  // Which addresses nodes have is not known here.
  const isOpen = kind.type === "REGIONAL_NETWORK" && annotations["network-stack"] === undefined;
  const foundation = {
    ...{ region, ...kind, network_stack: isOpen ? "IPV4" : stack.stack },
    ...{ vpc_uuid: vpc, subnet_uuid: subnet, ip, tags: [] },
  };
  return { kind: "built", value: { ...creation(foundation, target), validate_only: true } };
}

function kindOf(
  { annotations }: Reading,
  there: LoadBalancer | undefined,
  { defaultLoadBalancerType }: LoadBalancerConfiguration,
): Kind {
  const { type = defaultLoadBalancerType, network = "EXTERNAL" } = annotations;
  if (there === undefined) return { type, network };
  // As it was made: what asks for another one is told by a Warning, and the rest goes through.
  const made: LoadBalancerType = there.type === "REGIONAL_NETWORK" ? "REGIONAL_NETWORK" : "REGIONAL";
  return { type: made, network: there.network === "INTERNAL" ? "INTERNAL" : "EXTERNAL" };
}

function notAllowed(suffix: AnnotationSuffix, { service: { metadata } }: Reading): Built<never> {
  const field = annotationName(suffix);
  const value = metadata.annotations?.[field];
  return refused({ code: "NotAllowed", field, ...(value === undefined ? {} : { value }) });
}

const NO_CERTIFICATE = { kind: "built", value: { id: undefined, isRenewed: false } } as const;

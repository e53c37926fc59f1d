import {
  faultOfNamedResources,
  withoutRefusedTags,
} from "#clouds/aws/load-balancers/annotations/not-allowed.ts";
import { annotationName, readAnnotations } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { allowedOf, clusterTagOf, configurationOf } from "#clouds/aws/load-balancers/configuration.ts";
import { type Families, familiesOf } from "#clouds/aws/load-balancers/network/families.ts";
import { type HealthCheck, readHealthCheck } from "#clouds/aws/load-balancers/network/health-check.ts";
import { type PortWanted, readPorts } from "#clouds/aws/load-balancers/network/ports.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** What a Service wants of a network load balancer, as far as that can be said without looking at AWS. */
export interface NetworkWanted {
  readonly annotations: Annotations;
  readonly internal: boolean;
  readonly families: Families;
  readonly ports: readonly PortWanted[];
  readonly healthCheck: HealthCheck;
  /** Ports of nodes that no other Service has: its node ports, and the one at which kube-proxy tells of its endpoints. */
  readonly ownPorts: readonly number[];
  /** In canonical form; undefined is everybody. */
  readonly sourceRanges: readonly string[] | undefined;
  /** Of the load balancer; others stay as they are. */
  readonly attributes: Pairs;
  /** Of target groups, where the annotation says something. */
  readonly targetGroupAttributes: Pairs;
  /** What is said to no effect. */
  readonly warnings: readonly Problem[];
}

/** What a Service wants, or why that cannot be. */
export type ReadNetwork =
  | { readonly kind: "read"; readonly wanted: NetworkWanted }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads what a Service wants of a network load balancer. */
export function readNetwork(service: Service, settings: Settings): ReadNetwork {
  const configuration = configurationOf(settings);
  const said = readAnnotations("network", service.metadata.annotations);
  if (said.kind === "refused") return said;
  const { annotations, warnings } = withoutRefusedTags(said.annotations, allowedOf(configuration));
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const read = readPorts(service, annotations);
  if (read.kind === "refused") return read;
  const healthCheck = readHealthCheck(service, annotations, configuration);
  if ("code" in healthCheck) return { kind: "refused", problem: healthCheck };
  const { ports } = read;
  const who = { clusterTag: clusterTagOf(settings), allow: allowedOf(configuration) };
  const problem = faultOf(annotations, ports) ?? faultOfNamedResources(annotations, who);
  if (problem !== undefined) return { kind: "refused", problem };
  const wanted = {
    annotations,
    internal: annotations.internal ?? false,
    families: familiesOf(service),
    ports,
    healthCheck,
    ownPorts: listOwnPorts(service),
    sourceRanges: ranges.ranges,
    attributes: attributesOf(annotations),
    targetGroupAttributes: Object.fromEntries(
      Object.entries(annotations["target-group-attributes"] ?? {}).map(([key, value]) => [
        key,
        String(value),
      ]),
    ),
    warnings: [...said.warnings, ...warnings, ...read.warnings],
  };
  return { kind: "read", wanted };
}

/** Returns the ports of nodes that a Service has alone, of type LoadBalancer or not any more. */
export function listOwnPorts({ spec }: Service): readonly number[] {
  const { ports = [], healthCheckNodePort } = spec;
  const nodePorts = ports.flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
  return healthCheckNodePort ? [...nodePorts, healthCheckNodePort] : nodePorts;
}

/** Faults of what annotations say together. */
function faultOf(annotations: Annotations, ports: readonly PortWanted[]): Problem | undefined {
  const isUdp = ports.some(({ targetProtocol }) => targetProtocol === "UDP" || targetProtocol === "TCP_UDP");
  if (isUdp && annotations["target-group-attributes"]?.["preserve_client_ip.enabled"] === false)
    return invalid("target-group-attributes", "preserve_client_ip.enabled=true, because there are UDP ports");
  if (annotations["eip-allocations"] !== undefined && annotations.internal === true)
    return invalid("eip-allocations", "nothing, because the load balancer is internal");
  if (annotations["private-ipv4-addresses"] !== undefined && annotations.internal !== true)
    return invalid("private-ipv4-addresses", "nothing, unless the load balancer is internal");
  return undefined;

  function invalid(suffix: keyof Annotations, allowed: string): Problem {
    return { code: "InvalidAnnotation", field: annotationName(suffix), allowed };
  }
}

/** Attributes that the stock controller keeps, too; bucket and prefix matter while logs are written. */
function attributesOf(annotations: Annotations): Pairs {
  const isLogged = annotations["access-log-enabled"] === true;
  return {
    "load_balancing.cross_zone.enabled": String(annotations["cross-zone-load-balancing-enabled"] === true),
    "access_logs.s3.enabled": String(isLogged),
    ...(isLogged
      ? {
          "access_logs.s3.bucket": annotations["access-log-s3-bucket-name"] ?? "",
          "access_logs.s3.prefix": annotations["access-log-s3-bucket-prefix"] ?? "",
        }
      : {}),
  };
}

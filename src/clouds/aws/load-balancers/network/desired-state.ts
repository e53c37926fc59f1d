import {
  checkNamedResources,
  removeRejectedTags,
} from "#clouds/aws/load-balancers/annotations/named-resources.ts";
import {
  formatAnnotationName,
  readAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import {
  getAllowedResources,
  getClusterTag,
  getConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { type HealthCheck, readHealthCheck } from "#clouds/aws/load-balancers/network/health-check.ts";
import {
  type DesiredPort,
  type Families,
  readPorts,
  selectFamilies,
} from "#clouds/aws/load-balancers/network/ports.ts";
import type { Pairs } from "#clouds/aws/load-balancers/state.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** The desired state of a Service's network load balancer, as far as it is known without reading AWS. */
export interface NetworkDesiredState {
  readonly annotations: Annotations;
  readonly internal: boolean;
  readonly families: Families;
  readonly ports: readonly DesiredPort[];
  readonly healthCheck: HealthCheck;
  /**
   * Node ports that no other Service has: its own ones, and the one at which kube-proxy reports its
   * endpoints.
   */
  readonly ownPorts: readonly number[];
  /** In canonical form; undefined means all clients. */
  readonly sourceRanges: readonly string[] | undefined;
  /** Attributes of the load balancer; others stay unchanged. */
  readonly attributes: Pairs;
  /** Attributes of target groups that the annotation sets. */
  readonly targetGroupAttributes: Pairs;
  /** Values without effect. */
  readonly warnings: readonly Issue[];
}

/** The desired state, or why it cannot be served. */
export type NetworkDesiredStateResult =
  | { readonly kind: "read"; readonly desired: NetworkDesiredState }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Reads the desired state of a network load balancer from a Service. */
export function readDesiredState(service: Service, settings: Settings): NetworkDesiredStateResult {
  const configuration = getConfiguration(settings);
  const annotationsRead = readAnnotations("network", service.metadata.annotations);
  if (annotationsRead.kind === "refused") return annotationsRead;
  const { annotations, warnings } = removeRejectedTags(
    annotationsRead.annotations,
    getAllowedResources(configuration),
  );
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const read = readPorts(service, annotations);
  if (read.kind === "refused") return read;
  const healthCheck = readHealthCheck(service, annotations, configuration);
  if ("code" in healthCheck) return { kind: "refused", issue: healthCheck };
  const { ports } = read;
  const identity = { clusterTag: getClusterTag(settings), allow: getAllowedResources(configuration) };
  const issue = checkAnnotations(annotations, ports) ?? checkNamedResources(annotations, identity);
  if (issue !== undefined) return { kind: "refused", issue };
  const desired = {
    annotations,
    internal: annotations.internal ?? false,
    families: selectFamilies(service),
    ports,
    healthCheck,
    ownPorts: listOwnPorts(service),
    sourceRanges: ranges.ranges,
    attributes: buildAttributes(annotations),
    targetGroupAttributes: Object.fromEntries(
      Object.entries(annotations["target-group-attributes"] ?? {}).map(([key, value]) => [
        key,
        String(value),
      ]),
    ),
    warnings: [...annotationsRead.warnings, ...warnings, ...read.warnings],
  };
  return { kind: "read", desired };
}

/** Returns the node ports that only this Service has, also after it lost the type LoadBalancer. */
export function listOwnPorts({ spec }: Service): readonly number[] {
  const { ports = [], healthCheckNodePort } = spec;
  const nodePorts = ports.flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
  return healthCheckNodePort ? [...nodePorts, healthCheckNodePort] : nodePorts;
}

/** Checks annotations in combination. */
function checkAnnotations(annotations: Annotations, ports: readonly DesiredPort[]): Issue | undefined {
  const isUdp = ports.some(({ targetProtocol }) => targetProtocol === "UDP" || targetProtocol === "TCP_UDP");
  if (isUdp && annotations["target-group-attributes"]?.["preserve_client_ip.enabled"] === false)
    return buildIssue(
      "target-group-attributes",
      "preserve_client_ip.enabled=true, because there are UDP ports",
    );
  if (annotations["eip-allocations"] !== undefined && annotations.internal === true)
    return buildIssue("eip-allocations", "nothing, because the load balancer is internal");
  if (annotations["private-ipv4-addresses"] !== undefined && annotations.internal !== true)
    return buildIssue("private-ipv4-addresses", "nothing, unless the load balancer is internal");
  return undefined;

  function buildIssue(suffix: keyof Annotations, allowed: string): Issue {
    return { code: "InvalidAnnotation", field: formatAnnotationName(suffix), allowed };
  }
}

/**
 * Builds attributes, which the stock controller maintains too; bucket and prefix matter only while logs are
 * written.
 */
function buildAttributes(annotations: Annotations): Pairs {
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

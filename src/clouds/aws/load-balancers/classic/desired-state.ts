import type { HealthCheck, Listener, LoadBalancerAttributes } from "@aws-sdk/client-elastic-load-balancing";
import {
  checkNamedResources,
  removeRejectedTags,
} from "#clouds/aws/load-balancers/annotations/named-resources.ts";
import {
  formatAnnotationName,
  readAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { buildAttributes } from "#clouds/aws/load-balancers/classic/attributes.ts";
import { readHealthCheck } from "#clouds/aws/load-balancers/classic/health-check.ts";
import { readListeners } from "#clouds/aws/load-balancers/classic/listeners.ts";
import {
  getAllowedResources,
  getClusterTag,
  getConfiguration,
} from "#clouds/aws/load-balancers/configuration.ts";
import { isIPv6Network } from "#core/cidr.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** The desired state of a Service's classic load balancer, as far as it is known without reading AWS. */
export interface ClassicDesiredState {
  readonly annotations: Annotations;
  readonly scheme: "internal" | "internet-facing";
  /** In AWS's terms, in the order of the Service's ports; at least one. */
  readonly listeners: readonly Listener[];
  /** IPv4 networks in canonical form. */
  readonly sourceRanges: readonly string[];
  readonly healthCheck: HealthCheck;
  readonly attributes: LoadBalancerAttributes;
  /** Values without effect. */
  readonly warnings: readonly Issue[];
}

/** The desired state, or why it cannot be served. */
export type ClassicDesiredStateResult =
  | { readonly kind: "read"; readonly desired: ClassicDesiredState }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Reads the desired state of a classic load balancer from a Service. */
export function readClassic(service: Service, settings: Settings): ClassicDesiredStateResult {
  const configuration = getConfiguration(settings);
  const read = readAnnotations("classic", service.metadata.annotations);
  if (read.kind === "refused") return read;
  const specIssue = checkSpec(service);
  if (specIssue !== undefined) return { kind: "refused", issue: specIssue };
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const sourceRanges = ranges.ranges ?? ["0.0.0.0/0"];
  if (sourceRanges.some(isIPv6Network)) return { kind: "refused", issue: buildNoIPv6Issue(service) };
  const { annotations, warnings } = removeRejectedTags(read.annotations, getAllowedResources(configuration));
  const ports = readListeners(service, annotations);
  if ("issue" in ports) return { kind: "refused", issue: ports.issue };
  const identity = { clusterTag: getClusterTag(settings), allow: getAllowedResources(configuration) };
  const namedIssue = checkNamedResources(annotations, identity);
  if (namedIssue !== undefined) return { kind: "refused", issue: namedIssue };
  const healthCheck = readHealthCheck(service, annotations, ports.listeners, configuration);
  if ("code" in healthCheck) return { kind: "refused", issue: healthCheck };
  const desired: ClassicDesiredState = {
    annotations,
    scheme: annotations.internal === true ? "internal" : "internet-facing",
    listeners: ports.listeners,
    sourceRanges,
    healthCheck,
    attributes: buildAttributes(annotations),
    warnings: [...read.warnings, ...warnings, ...ports.warnings],
  };
  return { kind: "read", desired };
}

function checkSpec({ spec }: Service): Issue | undefined {
  const { sessionAffinity = "None", loadBalancerIP = "" } = spec;
  if (sessionAffinity !== "None")
    return {
      code: "SessionAffinity",
      field: "spec.sessionAffinity",
      value: sessionAffinity,
      allowed: "None",
    };
  if (loadBalancerIP !== "")
    return {
      code: "LoadBalancerIP",
      field: "spec.loadBalancerIP",
      value: loadBalancerIP,
      allowed: "an empty field",
    };
  return undefined;
}

function buildNoIPv6Issue({ spec }: Service): Issue {
  const isInSpec = (spec.loadBalancerSourceRanges ?? []).length > 0;
  return {
    code: "InvalidSourceRanges",
    field: isInSpec ? "spec.loadBalancerSourceRanges" : SOURCE_RANGES_ANNOTATION,
    allowed: `networks of IPv4, unless ${formatAnnotationName("type")} is nlb: classic load balancers have no IPv6`,
  };
}

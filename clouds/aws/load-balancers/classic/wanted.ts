import type { HealthCheck, Listener, LoadBalancerAttributes } from "@aws-sdk/client-elastic-load-balancing";
import {
  faultOfNamedResources,
  withoutRefusedTags,
} from "#clouds/aws/load-balancers/annotations/not-allowed.ts";
import { annotationName, readAnnotations } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import type { Annotations } from "#clouds/aws/load-balancers/annotations/table.ts";
import { attributesOf } from "#clouds/aws/load-balancers/classic/attributes.ts";
import { readHealthCheck } from "#clouds/aws/load-balancers/classic/health-check.ts";
import { readListeners } from "#clouds/aws/load-balancers/classic/listeners.ts";
import { allowedOf, clusterTagOf, configurationOf } from "#clouds/aws/load-balancers/configuration.ts";
import { isIPv6Network } from "#core/cidr.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";
import type { Settings } from "#core/settings.ts";

/** What a Service wants of a classic load balancer, as far as that can be said without looking at AWS. */
export interface ClassicWanted {
  readonly annotations: Annotations;
  readonly scheme: "internal" | "internet-facing";
  /** In AWS's words, in the order of the Service's ports; one at least. */
  readonly listeners: readonly Listener[];
  /** IPv4 networks in canonical form. */
  readonly sourceRanges: readonly string[];
  readonly healthCheck: HealthCheck;
  readonly attributes: LoadBalancerAttributes;
  /** What is said to no effect. */
  readonly warnings: readonly Problem[];
}

/** What a Service wants, or why that cannot be. */
export type ReadClassic =
  | { readonly kind: "read"; readonly wanted: ClassicWanted }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads what a Service wants of a classic load balancer. */
export function readClassic(service: Service, settings: Settings): ReadClassic {
  const configuration = configurationOf(settings);
  const said = readAnnotations("classic", service.metadata.annotations);
  if (said.kind === "refused") return said;
  const fault = faultOfSpec(service);
  if (fault !== undefined) return { kind: "refused", problem: fault };
  const ranges = readSourceRanges(service);
  if (ranges.kind === "refused") return ranges;
  const sourceRanges = ranges.ranges ?? ["0.0.0.0/0"];
  if (sourceRanges.some(isIPv6Network)) return { kind: "refused", problem: noIPv6(service) };
  const { annotations, warnings } = withoutRefusedTags(said.annotations, allowedOf(configuration));
  const ports = readListeners(service, annotations);
  if ("problem" in ports) return { kind: "refused", problem: ports.problem };
  const who = { clusterTag: clusterTagOf(settings), allow: allowedOf(configuration) };
  const foreign = faultOfNamedResources(annotations, who);
  if (foreign !== undefined) return { kind: "refused", problem: foreign };
  const healthCheck = readHealthCheck(service, annotations, ports.listeners, configuration);
  if ("code" in healthCheck) return { kind: "refused", problem: healthCheck };
  const wanted: ClassicWanted = {
    annotations,
    scheme: annotations.internal === true ? "internal" : "internet-facing",
    listeners: ports.listeners,
    sourceRanges,
    healthCheck,
    attributes: attributesOf(annotations),
    warnings: [...said.warnings, ...warnings, ...ports.warnings],
  };
  return { kind: "read", wanted };
}

function faultOfSpec({ spec }: Service): Problem | undefined {
  const { sessionAffinity = "None", loadBalancerIP = "" } = spec;
  if (sessionAffinity !== "None")
    return {
      code: "SessionAffinity",
      field: "spec.sessionAffinity",
      value: sessionAffinity,
      allowed: "None",
    };
  if (loadBalancerIP !== "")
    return { code: "LoadBalancerIP", field: "spec.loadBalancerIP", value: loadBalancerIP, allowed: "none" };
  return undefined;
}

function noIPv6({ spec }: Service): Problem {
  const ofSpec = (spec.loadBalancerSourceRanges ?? []).length > 0;
  return {
    code: "InvalidSourceRanges",
    field: ofSpec ? "spec.loadBalancerSourceRanges" : SOURCE_RANGES_ANNOTATION,
    allowed: `networks of IPv4, unless ${annotationName("type")} is nlb: classic load balancers have no IPv6`,
  };
}

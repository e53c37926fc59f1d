import * as z from "zod";
import {
  getLoadBalancerKind,
  readAnnotations,
} from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import { readRuleMode } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import { formatDisplayName, isUsableUid } from "#clouds/oci/load-balancers/names.ts";
import type { Reads } from "#clouds/oci/load-balancers/observe/reads.ts";
import { parseInstanceId } from "#clouds/oci/load-balancers/targets.ts";

/** The part of a `LoadBalancerQuestion` that decides what is read. */
const Question = z.object({
  service: z.object({
    metadata: z.object({
      namespace: z.string(),
      name: z.string(),
      uid: z.string(),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
    spec: z.object({
      loadBalancerIP: z.string().optional(),
      ipFamilies: z.array(z.string()).optional(),
    }),
  }),
  wanted: z.boolean(),
  nodes: z.array(z.object({ name: z.string(), providerID: z.string().optional() })),
  onlyTargets: z.literal(true).optional(),
});

/** The query for one Service. */
export interface ServiceQuery {
  readonly uid: string;
  readonly wanted: boolean;
  readonly onlyTargets: boolean;
  /** The display name of its load balancer, for each type. */
  readonly names: Readonly<Record<LoadBalancerKind, string>>;
  readonly kinds: readonly LoadBalancerKind[];
  readonly instances: readonly string[];
  readonly needsIPv6: boolean;
  /**
   * Whether its current settings allow a managed group. False in mode `None`: groups are then read only for
   * clean-up.
   */
  readonly managesGroup: boolean;
  /** Ids of groups and subnets in annotations and the configuration. */
  readonly groups: readonly string[];
  readonly backendGroups: readonly string[];
  readonly subnets: readonly string[];
  readonly address: string | undefined;
}

/** Parses a question; undefined for an invalid one, and for a Service whose uid gives no valid name. */
export function parseServiceQuery(
  question: unknown,
  configuration: LoadBalancerConfiguration,
): ServiceQuery | undefined {
  const parsed = Question.safeParse(question);
  if (!parsed.success) return undefined;
  const { service, wanted, nodes, onlyTargets = false } = parsed.data;
  const { metadata, spec } = service;
  if (!isUsableUid(metadata.uid)) return undefined;
  const kind = getLoadBalancerKind(metadata.annotations);
  const read = readAnnotations(kind, metadata.annotations);
  // Invalid annotations are reported by the decision.
  const annotationSettings = wanted && read.kind === "read" ? read.annotationSettings : {};
  const managesGroup = !isModeNone(kind, metadata.annotations, configuration);
  const { subnet1, subnet2 } = configuration.loadBalancer ?? {};
  const subnets = [
    annotationSettings.subnet1 ?? subnet1,
    kind === "lb" ? (annotationSettings.subnet2 ?? subnet2) : undefined,
  ];
  const prefix = configuration.loadBalancerPrefix;
  return {
    ...{ uid: metadata.uid, wanted, onlyTargets: wanted && onlyTargets },
    names: { lb: formatDisplayName("lb", metadata, prefix), nlb: formatDisplayName("nlb", metadata, prefix) },
    kinds: wanted && onlyTargets ? [kind] : ["lb", "nlb"],
    instances: wanted ? nodes.flatMap(({ providerID }) => parseInstanceId(providerID) ?? []) : [],
    needsIPv6: spec.ipFamilies?.includes("IPv6") ?? false,
    managesGroup,
    groups: annotationSettings.securityGroups ?? [],
    backendGroups: (managesGroup ? annotationSettings.backendSecurityGroups : undefined) ?? [],
    subnets: wanted ? subnets.flatMap((subnet) => subnet || []) : [],
    address: wanted ? spec.loadBalancerIP || undefined : undefined,
  };
}

/** Whether the mode is certainly `None`; an invalid value may have been `NSG` before. */
function isModeNone(
  kind: LoadBalancerKind,
  annotations: Readonly<Record<string, string>> | undefined,
  configuration: LoadBalancerConfiguration,
): boolean {
  const read = readAnnotations(kind, annotations);
  if (read.kind === "refused") return false;
  const mode = readRuleMode(kind, read.annotationSettings, configuration, annotations);
  return mode.kind === "read" && mode.mode === "None";
}

/** Dependencies of an observation. */
export interface ObserveContext {
  readonly cluster: string;
  readonly compartments: readonly string[];
  readonly vcn: string | undefined;
  /** Whether Services without a setting have managed groups; false if the configured mode is `None`. */
  readonly managesGroups: boolean;
  readonly reads: Reads;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

import * as z from "zod";
import { kindOf, readAnnotations } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { LoadBalancerConfiguration } from "#clouds/oci/load-balancers/configuration.ts";
import { displayNameOf, isUsableUid } from "#clouds/oci/load-balancers/names.ts";
import { instanceOf } from "#clouds/oci/load-balancers/targets.ts";
import { readRuleMode } from "#clouds/oci/load-balancers/wanted/rule-mode.ts";

/** What of a `LoadBalancerQuestion` decides what is looked at. */
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

/** What is looked for, for one Service. */
export interface Sought {
  readonly uid: string;
  readonly wanted: boolean;
  readonly onlyTargets: boolean;
  /** The display name of its load balancer of each kind. */
  readonly names: Readonly<Record<LoadBalancerKind, string>>;
  readonly kinds: readonly LoadBalancerKind[];
  readonly instances: readonly string[];
  readonly needsIPv6: boolean;
  /** Whether it may have a managed group by what it says now. False in mode `None`: then groups are looked for to clean up at most. */
  readonly managesGroup: boolean;
  /** Of groups and subnets that annotations and the configuration name. */
  readonly groups: readonly string[];
  readonly backendGroups: readonly string[];
  readonly subnets: readonly string[];
  readonly address: string | undefined;
}

/** Reads a question; undefined of one that is none, and of a Service with a uid that no load balancer is called after. */
export function soughtBy(question: unknown, configuration: LoadBalancerConfiguration): Sought | undefined {
  const asked = Question.safeParse(question);
  if (!asked.success) return undefined;
  const { service, wanted, nodes, onlyTargets = false } = asked.data;
  const { metadata, spec } = service;
  if (!isUsableUid(metadata.uid)) return undefined;
  const kind = kindOf(metadata.annotations);
  const read = readAnnotations(kind, metadata.annotations);
  // What annotations say wrongly is told where it is decided on.
  const said = wanted && read.kind === "read" ? read.said : {};
  const managesGroup = !isModeNone(kind, metadata.annotations, configuration);
  const { subnet1, subnet2 } = configuration.loadBalancer ?? {};
  const subnets = [said.subnet1 ?? subnet1, kind === "lb" ? (said.subnet2 ?? subnet2) : undefined];
  const prefix = configuration.loadBalancerPrefix;
  return {
    ...{ uid: metadata.uid, wanted, onlyTargets: wanted && onlyTargets },
    names: { lb: displayNameOf("lb", metadata, prefix), nlb: displayNameOf("nlb", metadata, prefix) },
    kinds: wanted && onlyTargets ? [kind] : ["lb", "nlb"],
    instances: wanted ? nodes.flatMap(({ providerID }) => instanceOf(providerID) ?? []) : [],
    needsIPv6: spec.ipFamilies?.includes("IPv6") ?? false,
    managesGroup,
    groups: said.securityGroups ?? [],
    backendGroups: (managesGroup ? said.backendSecurityGroups : undefined) ?? [],
    subnets: wanted ? subnets.flatMap((subnet) => subnet || []) : [],
    address: wanted ? spec.loadBalancerIP || undefined : undefined,
  };
}

/** Whether the mode is known to be `None`; what cannot be read may have been `NSG` before. */
function isModeNone(
  kind: LoadBalancerKind,
  annotations: Readonly<Record<string, string>> | undefined,
  configuration: LoadBalancerConfiguration,
): boolean {
  const read = readAnnotations(kind, annotations);
  if (read.kind === "refused") return false;
  const mode = readRuleMode(kind, read.said, configuration, annotations);
  return mode.kind === "read" && mode.mode === "None";
}

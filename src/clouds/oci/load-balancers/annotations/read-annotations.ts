import { buildUnknownAnnotationIssue, MAX_UNKNOWN, sortAnnotations } from "#clouds/annotations/readers.ts";
import {
  ANNOTATIONS,
  type AnnotationSettings,
  getReader,
  LB_PREFIX,
  type LoadBalancerKind,
  NLB_PREFIX,
  PREFIXES,
  TYPE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import { findNearest } from "#core/nearest.ts";
import type { Issue } from "#core/service/model.ts";

/** The values of the annotations, or why they cannot be applied. */
export type AnnotationsResult =
  | {
      readonly kind: "read";
      readonly annotationSettings: AnnotationSettings;
      /** Values without effect. */
      readonly warnings: readonly Issue[];
    }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Returns the type of load balancer that annotations request: as in the stock controller, any word except
 * `nlb` means `lb`.
 */
export function getLoadBalancerKind(
  annotations: Readonly<Record<string, string>> | undefined,
): LoadBalancerKind {
  return annotations?.[TYPE]?.trim().toLowerCase() === "nlb" ? "nlb" : "lb";
}

/**
 * Reads a Service's annotations for a type of load balancer. It reports the first invalid one by name and
 * guesses nothing.
 */
export function readAnnotations(
  kind: LoadBalancerKind,
  annotations: Readonly<Record<string, string>> | undefined,
): AnnotationsResult {
  const annotationSettings: Record<string, unknown> = {};
  const warnings: Issue[] = [];
  let unknownCount = 0;
  for (const [field, value] of sortAnnotations(annotations)) {
    if (!PREFIXES.some((prefix) => field.startsWith(prefix))) continue;
    const meaning = Object.hasOwn(ANNOTATIONS, field) ? ANNOTATIONS[field] : undefined;
    if (meaning === undefined) {
      if (unknownCount < MAX_UNKNOWN) warnings.push(buildUnknownAnnotationIssue(field, findSimilar(field)));
      unknownCount += 1;
      continue;
    }
    const written = value.trim();
    if (written === "") continue;
    const setting = meaning[kind];
    if (setting === undefined) {
      warnings.push({ code: "UnsupportedAnnotation", field, value, allowed: formatOtherKind(field, kind) });
      continue;
    }
    const read = getReader(setting)(written);
    if (!read.ok) return { kind: "refused", issue: { code: read.code, field, value, allowed: read.allowed } };
    if (read.value !== undefined) annotationSettings[setting] = read.value;
  }
  // The reader under each name returns the type of its value.
  return { kind: "read", annotationSettings: annotationSettings as AnnotationSettings, warnings };
}

function findSimilar(field: string): string | undefined {
  const nearest = findNearest(getLastPart(field), Object.keys(ANNOTATIONS).map(getLastPart));
  return Object.keys(ANNOTATIONS).find((name) => nearest !== undefined && getLastPart(name) === nearest);
}

/** Only the last part is compared: the common prefix would make all names similar. */
function getLastPart(name: string): string {
  const prefix = PREFIXES.find((each) => name.startsWith(each)) ?? "";
  return name.slice(prefix.length);
}

function formatOtherKind(field: string, kind: LoadBalancerKind): string {
  if (kind === "lb") return `nothing, unless ${TYPE} is nlb: it is for network load balancers`;
  const nlbName = `${NLB_PREFIX}${getLastPart(field)}`;
  const hasNlbName = field.startsWith(LB_PREFIX) && Object.hasOwn(ANNOTATIONS, nlbName);
  return hasNlbName
    ? `nothing: ${nlbName} is what network load balancers read`
    : "nothing: it is for the type lb";
}

import { inOrder, MAX_UNKNOWN, unknownAnnotation } from "#clouds/annotations/reading.ts";
import {
  ANNOTATIONS,
  LB_PREFIX,
  type LoadBalancerKind,
  NLB_PREFIX,
  PREFIXES,
  readerOf,
  type Said,
  TYPE,
} from "#clouds/oci/load-balancers/annotations/table.ts";
import { nearest } from "#core/nearest.ts";
import type { Problem } from "#core/service/model.ts";

/** What the annotations say, or why they cannot be carried out. */
export type ReadAnnotations =
  | {
      readonly kind: "read";
      readonly said: Said;
      /** What is said to no effect. */
      readonly warnings: readonly Problem[];
    }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Which kind of load balancer annotations ask for: as in the stock controller, any other word than `nlb` is `lb`. */
export function kindOf(annotations: Readonly<Record<string, string>> | undefined): LoadBalancerKind {
  return annotations?.[TYPE]?.trim().toLowerCase() === "nlb" ? "nlb" : "lb";
}

/** Reads a Service's annotations for a kind of load balancer. The first fault by name is told; nothing is guessed. */
export function readAnnotations(
  kind: LoadBalancerKind,
  annotations: Readonly<Record<string, string>> | undefined,
): ReadAnnotations {
  const said: Record<string, unknown> = {};
  const warnings: Problem[] = [];
  let unknown = 0;
  for (const [field, value] of inOrder(annotations)) {
    if (!PREFIXES.some((prefix) => field.startsWith(prefix))) continue;
    const meaning = Object.hasOwn(ANNOTATIONS, field) ? ANNOTATIONS[field] : undefined;
    if (meaning === undefined) {
      if (unknown < MAX_UNKNOWN) warnings.push(unknownAnnotation(field, meant(field)));
      unknown += 1;
      continue;
    }
    const written = value.trim();
    if (written === "") continue;
    const saying = meaning[kind];
    if (saying === undefined) {
      warnings.push({ code: "UnsupportedAnnotation", field, value, allowed: ofOtherKind(field, kind) });
      continue;
    }
    const read = readerOf(saying)(written);
    if (!read.ok)
      return { kind: "refused", problem: { code: read.code, field, value, allowed: read.allowed } };
    if (read.value !== undefined) said[saying] = read.value;
  }
  // Each value was read by the reader that stands under its name.
  return { kind: "read", said: said as Said, warnings };
}

function meant(field: string): string | undefined {
  const known = nearest(lastPart(field), Object.keys(ANNOTATIONS).map(lastPart));
  return Object.keys(ANNOTATIONS).find((name) => known !== undefined && lastPart(name) === known);
}

/** Words alone are compared: what all names begin with would make any of them alike. */
function lastPart(name: string): string {
  const prefix = PREFIXES.find((each) => name.startsWith(each)) ?? "";
  return name.slice(prefix.length);
}

function ofOtherKind(field: string, kind: LoadBalancerKind): string {
  if (kind === "lb") return `nothing, unless ${TYPE} is nlb: it is for network load balancers`;
  const twin = `${NLB_PREFIX}${lastPart(field)}`;
  const isTwinKnown = field.startsWith(LB_PREFIX) && Object.hasOwn(ANNOTATIONS, twin);
  return isTwinKnown
    ? `nothing: ${twin} is what network load balancers read`
    : "nothing: it is for the type lb";
}

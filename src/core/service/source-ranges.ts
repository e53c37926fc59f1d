import { canonicalizeCidr } from "#core/cidr.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The networks from which clients may reach a load balancer, or an error. */
export type SourceRangesResult =
  /** In canonical form, sorted, without duplicates; undefined when unset, which allows every client. */
  | { readonly kind: "read"; readonly ranges: readonly string[] | undefined }
  | { readonly kind: "refused"; readonly issue: Issue };

/**
 * Reads the networks from which clients may reach a Service: from its spec, or else from the annotation
 * `service.beta.kubernetes.io/load-balancer-source-ranges`.
 */
export function readSourceRanges({ metadata, spec }: Service): SourceRangesResult {
  const specRanges = spec.loadBalancerSourceRanges ?? [];
  if (specRanges.length > 0) return parseRanges("spec.loadBalancerSourceRanges", specRanges);
  const annotation = metadata.annotations?.[SOURCE_RANGES_ANNOTATION]?.trim() ?? "";
  return annotation === ""
    ? { kind: "read", ranges: undefined }
    : parseRanges(SOURCE_RANGES_ANNOTATION, annotation.split(","));
}

/** More networks than any cloud accepts. A longer list is rejected before it is parsed. */
const MAX_RANGES = 1_000;

function parseRanges(field: string, items: readonly string[]): SourceRangesResult {
  if (items.length > MAX_RANGES)
    return rejectSourceRanges(field, undefined, `at most ${MAX_RANGES} networks`);
  const ranges = new Set<string>();
  for (const item of items) {
    const network = canonicalizeCidr(item.trim());
    if (network === undefined) return rejectSourceRanges(field, item, ALLOWED);
    ranges.add(network);
  }
  return { kind: "read", ranges: [...ranges].sort() };
}

const ALLOWED = "networks in CIDR notation, such as 10.0.0.0/24";

function rejectSourceRanges(field: string, value: string | undefined, allowed: string): SourceRangesResult {
  return { kind: "refused", issue: { code: "InvalidSourceRanges", field, value, allowed } };
}

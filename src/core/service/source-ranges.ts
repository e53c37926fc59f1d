import { canonicalizeCidr } from "#core/cidr.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Issue } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The networks from which clients may reach a load balancer, or an error. */
export type ReadSourceRanges =
  /** In canonical form, sorted, without duplicates; undefined when unset, which allows every client. */
  | { readonly kind: "read"; readonly ranges: readonly string[] | undefined }
  | { readonly kind: "refused"; readonly issue: Issue };

/** Reads the networks from which clients may reach a Service, from its spec or else from the annotation. */
export function readSourceRanges({ metadata, spec }: Service): ReadSourceRanges {
  const ofSpec = spec.loadBalancerSourceRanges ?? [];
  if (ofSpec.length > 0) return read("spec.loadBalancerSourceRanges", ofSpec);
  const written = metadata.annotations?.[SOURCE_RANGES_ANNOTATION]?.trim() ?? "";
  return written === ""
    ? { kind: "read", ranges: undefined }
    : read(SOURCE_RANGES_ANNOTATION, written.split(","));
}

/** More than any cloud accepts; it limits the cost of reading a tenant's input. */
const MAX_RANGES = 1_000;

function read(field: string, items: readonly string[]): ReadSourceRanges {
  const ranges = new Set<string>();
  for (const item of items) {
    const network = canonicalizeCidr(item.trim());
    if (network === undefined) return rejectSourceRanges(field, item, ALLOWED);
    ranges.add(network);
  }
  if (ranges.size > MAX_RANGES) return rejectSourceRanges(field, undefined, `at most ${MAX_RANGES} networks`);
  return { kind: "read", ranges: [...ranges].sort() };
}

const ALLOWED = "networks in CIDR notation, such as 10.0.0.0/24";

function rejectSourceRanges(field: string, value: string | undefined, allowed: string): ReadSourceRanges {
  return { kind: "refused", issue: { code: "InvalidSourceRanges", field, value, allowed } };
}

import { canonicalCidr } from "#core/cidr.ts";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** From where a load balancer is to be reached. */
export type ReadSourceRanges =
  /** In canonical form, sorted, none twice; undefined where nothing is said, which is everybody. */
  | { readonly kind: "read"; readonly ranges: readonly string[] | undefined }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads from which networks a Service is to be reached: of its spec, or else of the annotation. */
export function readSourceRanges({ metadata, spec }: Service): ReadSourceRanges {
  const ofSpec = spec.loadBalancerSourceRanges ?? [];
  if (ofSpec.length > 0) return read("spec.loadBalancerSourceRanges", ofSpec);
  const written = metadata.annotations?.[SOURCE_RANGES_ANNOTATION]?.trim() ?? "";
  return written === ""
    ? { kind: "read", ranges: undefined }
    : read(SOURCE_RANGES_ANNOTATION, written.split(","));
}

/** More than any cloud takes, so that what a tenant writes costs little to read. */
const MAX_RANGES = 1_000;

function read(field: string, items: readonly string[]): ReadSourceRanges {
  const ranges = new Set<string>();
  for (const item of items) {
    const network = canonicalCidr(item.trim());
    if (network === undefined) return refused(field, item, ALLOWED);
    ranges.add(network);
  }
  if (ranges.size > MAX_RANGES) return refused(field, undefined, `at most ${MAX_RANGES} networks`);
  return { kind: "read", ranges: [...ranges].sort() };
}

const ALLOWED = "networks in CIDR notation, such as 10.0.0.0/24";

function refused(field: string, value: string | undefined, allowed: string): ReadSourceRanges {
  return { kind: "refused", problem: { code: "InvalidSourceRanges", field, value, allowed } };
}

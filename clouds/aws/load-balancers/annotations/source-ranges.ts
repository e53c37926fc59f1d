import { canonicalNetwork } from "#clouds/aws/load-balancers/annotations/networks.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The annotation that stands for `spec.loadBalancerSourceRanges` where that is empty. */
export const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";

/** From where a load balancer is to be reached. */
export type ReadSourceRanges =
  /** In canonical form, sorted, none twice; undefined where nothing is said, which is everybody. */
  | { readonly kind: "read"; readonly ranges: readonly string[] | undefined }
  | { readonly kind: "refused"; readonly problem: Problem };

/** Reads from which networks a Service is to be reached: of its spec, or else of the annotation. */
export function readSourceRanges({ metadata, spec }: Service): ReadSourceRanges {
  const ofSpec = spec.loadBalancerSourceRanges ?? [];
  if (ofSpec.length > 0) return read("spec.loadBalancerSourceRanges", ofSpec);
  const written = metadata.annotations?.[SOURCE_RANGES]?.trim() ?? "";
  return written === "" ? { kind: "read", ranges: undefined } : read(SOURCE_RANGES, written.split(","));
}

/** A security group never has more rules than this. */
const MAX_RANGES = 1_000;

function read(field: string, items: readonly string[]): ReadSourceRanges {
  const ranges = new Set<string>();
  for (const item of items) {
    const network = canonicalNetwork(item.trim());
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

import type { Fault } from "#clouds/http/outcome.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";

/** The result of the search for a node's instance. */
export type Resolution =
  /** `guess` if it matched by less than identity. Ownership is not checked yet. */
  { readonly kind: "instance"; readonly instance: OciInstance; readonly guess: boolean } | NoInstance;

/** Why there is no instance to continue with. */
export type NoInstance =
  /** Oracle's own statement, proven by a list. */
  { readonly kind: "absent"; readonly message: string } | { readonly kind: "fault"; readonly fault: Fault };

/** Builds the fault of several instances with one name. */
export function buildAmbiguousFault(ids: readonly string[]): Fault {
  const sorted = ids.toSorted();
  const message = `${sorted.length} instances answer to it, ${sorted.slice(0, 5).join(", ")}`;
  return { code: "Ambiguous", message };
}

/** Converts a fault to a resolution. */
export function toFailedResolution(fault: Fault): Resolution {
  return { kind: "fault", fault };
}

import type { Fault } from "#clouds/http/outcome.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";

/** What became of the search for a node's instance. */
export type Resolution =
  /** `guess` where it was less than identity that told. Not yet known to be the cluster's. */
  { readonly kind: "instance"; readonly instance: OciInstance; readonly guess: boolean } | NoInstance;

/** Why there is no instance to go on with. */
export type NoInstance =
  /** Oracle's own statement, proved by a list. */
  { readonly kind: "absent"; readonly message: string } | { readonly kind: "fault"; readonly fault: Fault };

/** Why instances of one name cannot be told apart. */
export function ambiguous(ids: readonly string[]): Fault {
  const sorted = ids.toSorted();
  const message = `${sorted.length} instances answer to it, ${sorted.slice(0, 5).join(", ")}`;
  return { code: "Ambiguous", message };
}

/** As a resolution. */
export function failed(fault: Fault): Resolution {
  return { kind: "fault", fault };
}

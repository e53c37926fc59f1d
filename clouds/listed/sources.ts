import type { CallContext } from "#clouds/http/call-context.ts";
import { createDirectory, type Directory } from "#clouds/listed/directory.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { CheckOwnership } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { createReads, type MachineReader, type Reads } from "#clouds/listed/reads.ts";

/** Where machines are searched. */
export interface Sources<M extends Machine> {
  /**
   * The lists of a cloud, in the order of reading: a later one only for machines missing in the earlier ones.
   */
  readonly directories: readonly Directory<Listing<M>>[];
  readonly reads: Reads<M>;
  readonly checkOwnership: CheckOwnership<M>;
  readonly now: () => number;
}

/** How machines are searched. */
export interface SourcesParts<M extends Machine> {
  /** Reads all pages of each list; if one fails, returns the other pages and the fault. Never rejects. */
  readonly lists: readonly ((callContext: CallContext) => Promise<Listing<M>>)[];
  readonly read: MachineReader<M>;
  readonly checkOwnership: CheckOwnership<M>;
  /** Time for which a list proves that a machine exists. */
  readonly maxListAgeMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Creates the sources. Lists live as long as the returned object. */
export function createSources<M extends Machine>(parts: SourcesParts<M>): Sources<M> {
  const { lists, read, checkOwnership, maxListAgeMs, now } = parts;
  return {
    directories: lists.map((list) => createDirectory(list, maxListAgeMs, now)),
    reads: createReads(read, maxListAgeMs, now),
    checkOwnership,
    now,
  };
}

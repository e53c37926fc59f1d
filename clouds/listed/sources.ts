import type { Turn } from "#clouds/http/api.ts";
import { createDirectory, type Directory } from "#clouds/listed/directory.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import type { NotOurs } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { createReads, type ReadMachine, type Reads } from "#clouds/listed/reads.ts";

/** Where machines are looked for. */
export interface Sources<M extends Machine> {
  /** The lists of a cloud, in the order in which they are asked for: a later one only for what no earlier one shows. */
  readonly directories: readonly Directory<Listing<M>>[];
  readonly reads: Reads<M>;
  readonly notOurs: NotOurs<M>;
  readonly now: () => number;
}

/** How machines are looked for. */
export interface SourcesParts<M extends Machine> {
  /** All pages of each list; where one fails, what the others show and the fault. Never rejects. */
  readonly lists: readonly ((turn: Turn) => Promise<Listing<M>>)[];
  readonly read: ReadMachine<M>;
  readonly notOurs: NotOurs<M>;
  /** For how long a list is believed of what it shows. */
  readonly maxListAgeMs: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

/** Lists live as long as what is returned. */
export function createSources<M extends Machine>(parts: SourcesParts<M>): Sources<M> {
  const { lists, read, notOurs, maxListAgeMs, now } = parts;
  return {
    directories: lists.map((list) => createDirectory(list, maxListAgeMs, now)),
    reads: createReads(read, maxListAgeMs, now),
    notOurs,
    now,
  };
}

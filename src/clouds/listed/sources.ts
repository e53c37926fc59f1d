import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Listing } from "#clouds/listed/listing.ts";
import { type CheckOwnership, createDirectory, type Directory } from "#clouds/listed/look-up.ts";
import type { Machine } from "#clouds/listed/query.ts";
import { fault } from "#clouds/outcome.ts";

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

/** Reads of single machines, within limits. */
interface Reads<M extends Machine> {
  /** Whether this many reads, with the recent ones, cost no more than a list of `pages` pages. */
  isCheaperFor(count: number, pages: number): boolean;
  /** An undefined value is the cloud's statement that the machine does not exist. */
  readAll(
    ids: ReadonlySet<string>,
    callContext: CallContext,
  ): Promise<ReadonlyMap<string, Outcome<M | undefined>>>;
}

/** Reads one machine by id; undefined if the cloud itself says that it does not exist. Never rejects. */
type MachineReader<M extends Machine> = (
  id: string,
  callContext: CallContext,
) => Promise<Outcome<M | undefined>>;

/** Maximum single reads per batch: a wrong account must not cause a request for each of its nodes. */
const MAX_READS = 10;

/** Number of single reads allowed while the length of the list is unknown. */
const FEW = 2;

/** Creates the reads. Reads of the last `windowMs` count in the comparison with a list. */
function createReads<M extends Machine>(
  read: MachineReader<M>,
  windowMs: number,
  now: () => number,
): Reads<M> {
  let readAt: number[] = [];
  const forget = (): void => {
    readAt = readAt.filter((at) => now() - at < windowMs);
  };
  return {
    isCheaperFor(count, pages) {
      forget();
      return count === 0 || count + readAt.length <= Math.max(FEW, Math.min(pages, MAX_READS));
    },
    async readAll(ids, callContext) {
      forget();
      const all = [...ids];
      const reading = all.slice(0, MAX_READS).map(async (id) => {
        readAt.push(now());
        return [id, await read(id, callContext)] as const;
      });
      const deferred = all.slice(MAX_READS).map((id) => [id, DEFERRED_READ] as const);
      return new Map([...(await Promise.all(reading)), ...deferred]);
    },
  };
}

const DEFERRED_READ: Outcome<never> = fault(
  "Unavailable",
  `no list shows it, and this batch has read ${MAX_READS} machines singly: the next batch looks for it again`,
);

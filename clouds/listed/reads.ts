import type { CallContext } from "#clouds/http/call-context.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { fault } from "#clouds/outcome.ts";

/** Reads of single machines, within limits. */
export interface Reads<M extends Machine> {
  /** Whether this many reads, with the recent ones, cost no more than a list of `pages` pages. */
  isCheaperFor(count: number, pages: number): boolean;
  /** An undefined value is the cloud's statement that the machine does not exist. */
  readAll(
    ids: ReadonlySet<string>,
    callContext: CallContext,
  ): Promise<ReadonlyMap<string, Outcome<M | undefined>>>;
}

/** Reads one machine by id; undefined if the cloud itself says that it does not exist. Never rejects. */
export type MachineReader<M extends Machine> = (
  id: string,
  callContext: CallContext,
) => Promise<Outcome<M | undefined>>;

/** Maximum single reads per batch: a wrong account must not cause a request for each of its nodes. */
const MAX_READS = 10;

/** Number of single reads allowed while the length of the list is unknown. */
const FEW = 2;

/** Creates the reads. Reads of the last `windowMs` count in the comparison with a list. */
export function createReads<M extends Machine>(
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
  `no list shows it, and this batch has read ${MAX_READS} machines singly: it is looked for again`,
);

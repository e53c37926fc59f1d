import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Machine } from "#clouds/listed/machine.ts";
import { fault } from "#clouds/outcome.ts";

/** Machines read one by one, within bounds. */
export interface Reads<M extends Machine> {
  /** Whether so many reads, with those of late, cost no more than a list would, of which the pages are told where they are known. */
  isCheaperFor(count: number, pages: number): boolean;
  /** Undefined in an outcome is the cloud's statement that there is no such machine. */
  readAll(ids: ReadonlySet<string>, turn: Turn): Promise<ReadonlyMap<string, Outcome<M | undefined>>>;
}

/** Reads one machine by its id, or undefined where the cloud itself says that there is none; never rejects. */
export type ReadMachine<M extends Machine> = (id: string, turn: Turn) => Promise<Outcome<M | undefined>>;

/** The most that one batch reads singly: a wrong account must not become a request for each of its nodes. */
const MAX_READS = 10;

/** So few are read singly even where it is not known how long a list would be. */
const FEW = 2;

/** Reads of the last `windowMs` count when it is weighed whether a list would be cheaper. */
export function createReads<M extends Machine>(
  read: ReadMachine<M>,
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
    async readAll(ids, turn) {
      forget();
      const all = [...ids];
      const reading = all.slice(0, MAX_READS).map(async (id) => {
        readAt.push(now());
        return [id, await read(id, turn)] as const;
      });
      const deferred = all.slice(MAX_READS).map((id) => [id, LATER] as const);
      return new Map([...(await Promise.all(reading)), ...deferred]);
    },
  };
}

const LATER: Outcome<never> = fault(
  "Unavailable",
  `no list shows it, and this batch has read ${MAX_READS} machines singly: it is looked for again`,
);

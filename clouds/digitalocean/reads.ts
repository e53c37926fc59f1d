import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Listing } from "#clouds/digitalocean/listing.ts";
import { readDroplet } from "#clouds/digitalocean/read-droplet.ts";
import type { Api, Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { fault } from "#clouds/outcome.ts";

/** Droplets read one by one, within bounds. */
export interface Reads {
  /** Whether so many reads, with those of late, cost no more than a list would. */
  isCheaperFor(count: number, listed: readonly Listing[]): boolean;
  /** Undefined in an outcome is the API's statement that there is no such droplet. */
  readAll(ids: ReadonlySet<string>, turn: Turn): Promise<ReadonlyMap<string, Outcome<Droplet | undefined>>>;
}

/** The most that one batch reads singly: a wrong account must not become a request for each of its nodes. */
export const MAX_READS = 10;

/** So few are read singly even where it is not known how long a list would be. */
const FEW = 2;

export function createReads(api: Api, windowMs: number, now: () => number): Reads {
  let readAt: number[] = [];
  return {
    isCheaperFor(count, listed) {
      readAt = readAt.filter((at) => now() - at < windowMs);
      const pages = listed.reduce((sum, listing) => sum + listing.pages, 0);
      return count === 0 || count + readAt.length <= Math.max(FEW, Math.min(pages, MAX_READS));
    },
    async readAll(ids, turn) {
      const all = [...ids];
      const read = all.slice(0, MAX_READS).map(async (id) => {
        readAt.push(now());
        return [id, await readDroplet(api, id, turn)] as const;
      });
      const deferred = all.slice(MAX_READS).map((id) => [id, LATER] as const);
      return new Map([...(await Promise.all(read)), ...deferred]);
    },
  };
}

const LATER: Outcome<never> = fault(
  "Unavailable",
  `no list shows it, and this batch has read ${MAX_READS} droplets singly: it is looked for again`,
);

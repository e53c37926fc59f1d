import type { Stop } from "#core/stop.ts";

/** Returns a stop reader: so many reads find nothing stopped, later ones this stop. */
export function createDelayedStop(
  looks: number,
  stop: Stop | undefined,
): (cluster: string) => Promise<Stop | undefined> {
  let looked = 0;
  return async () => {
    looked += 1;
    return looked > looks ? stop : undefined;
  };
}

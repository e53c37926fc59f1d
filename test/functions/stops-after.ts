import type { Stop } from "#core/stop.ts";

/** Looks at a switch: so many find nothing stopped, and those that follow this. */
export function stopsAfter(
  looks: number,
  stop: Stop | undefined,
): (cluster: string) => Promise<Stop | undefined> {
  let looked = 0;
  return async () => {
    looked += 1;
    return looked > looks ? stop : undefined;
  };
}

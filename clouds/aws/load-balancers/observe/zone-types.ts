import type { Outcome } from "#clouds/aws/errors.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What kind of zone each is, by its name; kept for as long as the process lives. */
export interface ZoneTypes {
  /**
   * Those that AWS knows of the names; it is asked where one is new, and believed for a minute where it does not know one, or does
   * not let us ask.
   */
  of(names: readonly string[], read: Reader): Promise<Outcome<ReadonlyMap<string, string>>>;
}

/** Nothing is known yet. `now` is milliseconds of a clock that never goes back. */
export function createZoneTypes(now: () => number): ZoneTypes {
  const known = new Map<string, string>();
  let believedUntil = Number.NEGATIVE_INFINITY;
  return {
    async of(names, read) {
      if (names.some((name) => !known.has(name)) && now() >= believedUntil) {
        const answer = await read("ec2:DescribeAvailabilityZones", {});
        if (answer.kind === "fault" && answer.fault.refused !== true) return answer;
        const zones = answer.kind === "fault" ? [] : answer.value.AvailabilityZones;
        if (zones === undefined)
          return fault("Unavailable", "DescribeAvailabilityZones: the answer is not a list");
        believedUntil = now() + BELIEVED_MS;
        for (const { ZoneName: name, ZoneType: type } of zones) {
          if (name && type && known.size < MAX_ZONES) known.set(name, type);
        }
      }
      return ok(known);
    },
  };
}

const BELIEVED_MS = 60_000;
const MAX_ZONES = 1_000;

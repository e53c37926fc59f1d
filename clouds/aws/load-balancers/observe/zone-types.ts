import type { Outcome } from "#clouds/aws/errors.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The type of each zone by name, cached for the life of the process. */
export interface ZoneTypes {
  /**
   * Returns the types of the known names. AWS is called for new names; an unknown name or a refusal is cached
   * for a minute.
   */
  read(names: readonly string[], read: Reader): Promise<Outcome<ReadonlyMap<string, string>>>;
}

/** Creates an empty cache. `now` is a monotonic clock in milliseconds. */
export function createZoneTypes(now: () => number): ZoneTypes {
  const known = new Map<string, string>();
  let believedUntil = Number.NEGATIVE_INFINITY;
  return {
    async read(names, read) {
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

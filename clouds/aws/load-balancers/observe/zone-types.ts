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
  const typesByZone = new Map<string, string>();
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  return {
    async read(names, read) {
      if (names.some((name) => !typesByZone.has(name)) && now() >= freshUntilMs) {
        const answer = await read("ec2:DescribeAvailabilityZones", {});
        if (answer.kind === "fault" && answer.fault.refused !== true) return answer;
        const zones = answer.kind === "fault" ? [] : answer.value.AvailabilityZones;
        if (zones === undefined)
          return fault("Unavailable", "DescribeAvailabilityZones: the answer is not a list");
        freshUntilMs = now() + FRESH_MS;
        for (const { ZoneName: name, ZoneType: type } of zones) {
          if (name && type && typesByZone.size < MAX_ZONES) typesByZone.set(name, type);
        }
      }
      return ok(typesByZone);
    },
  };
}

const FRESH_MS = 60_000;
const MAX_ZONES = 1_000;

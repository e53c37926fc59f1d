import type { Session } from "#clouds/aws/session.ts";

/** The label that says in which physical zone a node is; a zone's name differs between accounts, its id does not. */
export const ZONE_ID_LABEL = "topology.k8s.aws/zone-id";

/** Ids of zones by their names, kept for as long as the process lives. */
export interface Zones {
  /** Asks at most once a minute for names that are not known; one that stays unknown is simply not in the answer. */
  idsOf(names: Iterable<string>, session: Session): Promise<ReadonlyMap<string, string>>;
}

/** `now` is milliseconds of a clock that never goes back. */
export function createZones(now: () => number): Zones {
  let known: ReadonlyMap<string, string> = new Map();
  let askedAt = Number.NEGATIVE_INFINITY;
  return {
    async idsOf(names, session) {
      const unknown = [...names].some((name) => !known.has(name));
      if (!unknown || now() - askedAt < REFRESH_MS) return known;
      const answer = await session.send("DescribeAvailabilityZones", (ec2, signal) =>
        ec2.describeAvailabilityZones({}, signal),
      );
      // Asked in vain counts as asked, or every batch would ask again; but being told to stop says nothing of EC2.
      if (answer.kind === "ok" || answer.fault.code !== "Aborted") askedAt = now();
      if (answer.kind === "ok") {
        const zones = (answer.value.AvailabilityZones ?? []).slice(0, MAX_ZONES);
        known = new Map(zones.flatMap(({ ZoneName: name, ZoneId: id }) => (name && id ? [[name, id]] : [])));
      }
      return known;
    },
  };
}

const REFRESH_MS = 60_000;
const MAX_ZONES = 1_000;

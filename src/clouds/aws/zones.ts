import { buildAbortedFault, type Fault, type Outcome } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";
import { createSingleFlight } from "#clouds/http/single-flight.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The label with a node's physical zone: a zone's name differs between accounts, its id does not. */
export const ZONE_ID_LABEL = "topology.k8s.aws/zone-id";

/** Zone ids by zone name, cached for the life of the process; failures are not cached. */
export interface Zones {
  /** Caches an id that came with an instance. */
  remember(name: string, id: string): void;
  /**
   * Requests unknown zones ahead of need. The request ends with the session unless others wait for it too.
   */
  prefetch(session: Session): void;
  /**
   * Returns the id of each zone. Undefined, cached for a minute, if EC2 does not know the zone or refuses the
   * operation; a fault if the request failed. Concurrent batches share one request.
   */
  readIds(
    names: Iterable<string>,
    session: Session,
  ): Promise<ReadonlyMap<string, Outcome<string | undefined>>>;
}

/** `now` is a monotonic clock in milliseconds. */
export function createZones(now: () => number): Zones {
  const idsByName = new Map<string, string>();
  let freshUntilMs = Number.NEGATIVE_INFINITY;

  const remember = (name: string, id: string): void => {
    if (idsByName.size < MAX_ZONES) idsByName.set(name, id);
  };

  const request = async (session: Session): Promise<Outcome<void>> => {
    const answer = await session.send("DescribeAvailabilityZones", (ec2, signal) =>
      ec2.describeAvailabilityZones({}, signal),
    );
    if (answer.kind === "fault" && answer.fault.refused !== true) return answer;
    if (answer.kind === "ok") {
      const { AvailabilityZones: zones } = answer.value;
      if (zones === undefined) {
        return fault("Unavailable", "DescribeAvailabilityZones: the answer is not a list of zones");
      }
      for (const { ZoneName: name, ZoneId: id } of zones) if (name && id) remember(name, id);
    }
    freshUntilMs = now() + FRESH_MS;
    return ok(undefined);
  };

  const singleFlight = createSingleFlight((first: Session, { signal }) => request(first.withSignal(signal)));

  const requestShared = async (session: Session): Promise<Fault | undefined> => {
    const answer = await singleFlight.join(session);
    if (answer === undefined) return buildAbortedFault("DescribeAvailabilityZones");
    return answer.kind === "fault" ? answer.fault : undefined;
  };

  return {
    remember: remember,
    prefetch(session) {
      if (idsByName.size === 0 && now() >= freshUntilMs) void requestShared(session);
    },
    async readIds(names, session) {
      const zoneNames = [...new Set(names)];
      const needsRequest = zoneNames.some((name) => !idsByName.has(name)) && now() >= freshUntilMs;
      const failure = needsRequest ? await requestShared(session) : undefined;
      return new Map(
        zoneNames.map((name) => {
          const id = idsByName.get(name);
          return [name, id === undefined && failure ? { kind: "fault", fault: failure } : ok(id)];
        }),
      );
    },
  };
}

const FRESH_MS = 60_000;

const MAX_ZONES = 1_000;

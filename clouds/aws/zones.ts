import { buildAbortedFault, type Fault, type Outcome } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";
import { createSingleFlight } from "#clouds/aws/single-flight.ts";
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
  askAhead(session: Session): void;
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
  const known = new Map<string, string>();
  let believedUntil = Number.NEGATIVE_INFINITY;
  const invocation = createSingleFlight<Outcome<void>>();

  const learn = (name: string, id: string): void => {
    if (known.size < MAX_ZONES) known.set(name, id);
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
      for (const { ZoneName: name, ZoneId: id } of zones) if (name && id) learn(name, id);
    }
    believedUntil = now() + BELIEVED_MS;
    return ok(undefined);
  };

  const ask = async (session: Session): Promise<Fault | undefined> => {
    const answer = await invocation.join((signal) => request(session.withSignal(signal)), session.signal);
    if (answer === undefined) return buildAbortedFault("DescribeAvailabilityZones");
    return answer.kind === "fault" ? answer.fault : undefined;
  };

  return {
    remember: learn,
    askAhead(session) {
      if (known.size === 0 && now() >= believedUntil) void ask(session);
    },
    async readIds(names, session) {
      const wanted = [...new Set(names)];
      const isAsked = wanted.some((name) => !known.has(name)) && now() >= believedUntil;
      const failed = isAsked ? await ask(session) : undefined;
      return new Map(
        wanted.map((name) => {
          const id = known.get(name);
          return [name, id === undefined && failed ? { kind: "fault", fault: failed } : ok(id)];
        }),
      );
    },
  };
}

const BELIEVED_MS = 60_000;
const MAX_ZONES = 1_000;

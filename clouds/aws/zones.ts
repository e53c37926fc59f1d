import { abortedFault, type Fault, type Outcome } from "#clouds/aws/errors.ts";
import type { Session } from "#clouds/aws/session.ts";
import { createSingleFlight } from "#clouds/aws/single-flight.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The label that says in which physical zone a node is; a zone's name differs between accounts, its id does not. */
export const ZONE_ID_LABEL = "topology.k8s.aws/zone-id";

/** Ids of zones by their names, kept for as long as the process lives; failures are not kept at all. */
export interface Zones {
  /** What came along with an instance need not be asked for. */
  learn(name: string, id: string): void;
  /** Where nothing is known yet, asks ahead of need; the request ends with the session unless others wait for it, too. */
  askAhead(session: Session): void;
  /**
   * The id of each zone: undefined where EC2 does not know the zone or refuses the operation, either of which is
   * believed for a minute, and a fault where it could not be asked. Batches that ask at the same time share one request.
   */
  idsOf(names: Iterable<string>, session: Session): Promise<ReadonlyMap<string, Outcome<string | undefined>>>;
}

/** `now` is milliseconds of a clock that never goes back. */
export function createZones(now: () => number): Zones {
  const known = new Map<string, string>();
  let believedUntil = Number.NEGATIVE_INFINITY;
  const flight = createSingleFlight<Outcome<void>>();

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
    const answer = await flight.join((signal) => request(session.under(signal)), session.signal);
    if (answer === undefined) return abortedFault("DescribeAvailabilityZones");
    return answer.kind === "fault" ? answer.fault : undefined;
  };

  return {
    learn,
    askAhead(session) {
      if (known.size === 0 && now() >= believedUntil) void ask(session);
    },
    async idsOf(names, session) {
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

import type { Plan } from "#core/decision.ts";
import { type FleetStanding, holdOfFleetBrake, NOT_ASKED } from "#core/node-lifecycle/fleet-brake.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/** What stands between the plans of one invocation and the deletions in them that nothing proves. */
export interface FleetGate {
  /**
   * Makes a plan, has what it would announce let by the brake of the fleet, and makes it once more where that lets less. Before the plan's write
   * is sent, so that whoever is killed from here on has counted.
   */
  planned(plan: (standing: FleetStanding | undefined) => Plan): Promise<Plan>;
}

/** The gate of an invocation; what was let once stays let for it, and what was held stays held. */
export function createFleetGate(invocation: Invocation): FleetGate {
  const { cluster, deadline, dependencies, event } = invocation;
  const { fleetBrake } = dependencies;
  let standing = NOT_ASKED;
  return {
    async planned(plan) {
      if (fleetBrake === undefined) return plan(undefined);
      const first = plan(standing);
      const unproven = first.kind === "shared" ? (first.unproven ?? []) : [];
      const asked = unproven.filter(({ uid }) => !standing.granted.has(uid));
      if (asked.length === 0) return first;
      const { granted, held, pulled } = await fleetBrake.claim(
        { cluster: cluster.name, deletions: asked },
        deadline.signal,
      );
      standing = { granted: new Set([...standing.granted, ...granted]), held };
      if (pulled !== undefined) {
        dependencies.log?.({
          level: "error",
          event: "FleetBrakeEngaged",
          cluster: event.cluster,
          controller: event.controller,
          eventId: event.id,
          code: pulled.limit,
          clusters: pulled.clusters,
          message: holdOfFleetBrake(pulled).message,
        });
      }
      return held === undefined ? first : plan(standing);
    },
  };
}

import type { Plan } from "#core/decision.ts";
import { describeFleetBrakeHold, NO_CLAIM } from "#core/node-lifecycle/fleet-brake.ts";
import type { FleetBrakeState } from "#core/node-lifecycle/fleet-record.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/** Guards the unproven deletions in the plans of one invocation. */
export interface FleetBrakeGuard {
  /**
   * Makes a plan, claims its announced deletions from the fleet brake, and plans again if fewer are granted.
   * It runs before the plan's write, so that a function that is killed later has already counted.
   */
  plan(plan: (phase: FleetBrakeState | undefined) => Plan): Promise<Plan>;
}

/** Creates the guard of an invocation. A granted deletion stays granted, a held one stays held. */
export function createFleetBrakeGuard(invocation: Invocation): FleetBrakeGuard {
  const { cluster, deadline, dependencies, event } = invocation;
  const { fleetBrake } = dependencies;
  let phase = NO_CLAIM;
  return {
    async plan(plan) {
      if (fleetBrake === undefined) return plan(undefined);
      const first = plan(phase);
      const unproven = first.kind === "shared" ? (first.unproven ?? []) : [];
      const asked = unproven.filter(({ uid }) => !phase.granted.has(uid));
      if (asked.length === 0) return first;
      const { granted, held, pulled } = await fleetBrake.claim(
        { cluster: cluster.name, deletions: asked },
        deadline.signal,
      );
      phase = { granted: new Set([...phase.granted, ...granted]), held };
      if (pulled !== undefined) {
        dependencies.log?.({
          level: "error",
          event: "FleetBrakeEngaged",
          cluster: event.cluster,
          controller: event.controller,
          eventId: event.id,
          code: pulled.limit,
          clusters: pulled.clusters,
          message: describeFleetBrakeHold(pulled).message,
        });
      }
      return held === undefined ? first : plan(phase);
    },
  };
}

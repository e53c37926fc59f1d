import { createFleetBrake, type FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import { noRecord, openRecord } from "#config/fleet-brake/open-record.ts";

/** The brake of the fleet as a deployed function has it: over the record that FLEET_BRAKE names, and none where that is not set. */
export function deployedFleetBrake(
  environment: Readonly<Record<string, string | undefined>>,
): FleetBrake | undefined {
  const { FLEET_BRAKE: reference } = environment;
  if (reference === undefined || reference === "") return undefined;
  // What this process alone remembers is no brake of several functions.
  const store = reference === "memory" ? undefined : openRecord(reference);
  return createFleetBrake({ store: store ?? noRecord(reference) });
}

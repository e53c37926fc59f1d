import { createFleetBrake, type FleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import { createUnreadableRecord, openRecord } from "#config/fleet-brake/open-record.ts";

/**
 * Opens the fleet brake of a deployed function, over the record that FLEET_BRAKE names; undefined if the
 * variable is not set.
 */
export function openDeployedFleetBrake(
  environment: Readonly<Record<string, string | undefined>>,
): FleetBrake | undefined {
  const { FLEET_BRAKE: reference } = environment;
  if (reference === undefined || reference === "") return undefined;
  // A record in one process cannot brake several functions.
  const store = reference === "memory" ? undefined : openRecord(reference);
  return createFleetBrake({ store: store ?? createUnreadableRecord(reference) });
}

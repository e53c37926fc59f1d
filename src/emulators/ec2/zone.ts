import { getZoneIdPrefix } from "./names.ts";

/** An availability zone of the account: zone names differ between accounts, zone IDs do not. */
export interface Zone {
  readonly name: string;
  readonly id: string;
}

/** Returns three zones whose IDs are in another order than their names, as in most accounts. */
export function listZones(region: string): readonly Zone[] {
  const prefix = getZoneIdPrefix(region);
  return [
    { name: `${region}a`, id: `${prefix}-az2` },
    { name: `${region}b`, id: `${prefix}-az3` },
    { name: `${region}c`, id: `${prefix}-az1` },
  ];
}

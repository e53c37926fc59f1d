import { zoneIdPrefixOf } from "./names.ts";

/** An availability zone of the account: zone names are the account's own, zone ids are the same for everybody. */
export interface Zone {
  readonly name: string;
  readonly id: string;
}

/** Three zones, whose ids are in another order than their names, as in most accounts. */
export function zonesOf(region: string): readonly Zone[] {
  const prefix = zoneIdPrefixOf(region);
  return [
    { name: `${region}a`, id: `${prefix}-az2` },
    { name: `${region}b`, id: `${prefix}-az3` },
    { name: `${region}c`, id: `${prefix}-az1` },
  ];
}

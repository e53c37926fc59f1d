import * as fc from "fast-check";
import { SEED } from "#test/seed.ts";

/** Checks a property for many generated values. */
export function checkProperty<Values extends [unknown, ...unknown[]]>(
  arbitraries: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  holds: (...values: Values) => void,
): void {
  const property = fc.property(fc.tuple<Values>(...arbitraries), (values) => holds(...values));
  // biome-ignore lint/nursery/noFloatingPromises: a property that is synchronous is asserted synchronously
  fc.assert(property, { seed: SEED, numRuns: 300 });
}

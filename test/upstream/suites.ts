import { cloudProviderSuite, endToEndSuite, serviceSuite } from "#test/upstream/integration/suites.ts";
import type { UpstreamSuite } from "#test/upstream/suite.ts";
import { TABLE_SUITES } from "#test/upstream/tables/suites.ts";

/** The suites, in the order in which they run. */
export const SUITES: readonly UpstreamSuite[] = [
  cloudProviderSuite,
  serviceSuite,
  endToEndSuite,
  ...TABLE_SUITES,
];

import type { UpstreamSuite } from "#test/upstream/suite.ts";

/** The suites, in the order in which they run. */
export const SUITES: readonly UpstreamSuite[] = [];

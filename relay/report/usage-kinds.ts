import type { ClusterUsage } from "#core/report.ts";

/** Requests of functions to an API server, by the value of the label `kind`. */
export const USAGE_KINDS: readonly (readonly [string, (usage: ClusterUsage) => number])[] = [
  ["write", (usage) => usage.writes],
  ["read", (usage) => usage.reads],
  ["conflict", (usage) => usage.conflicts],
  ["throttled", (usage) => usage.throttled],
  ["event", (usage) => usage.events],
  ["event-dropped", (usage) => usage.eventsDropped],
];

import type { CloudUsage, ClusterUsage } from "#core/report.ts";

/** The cloud was not asked. */
export const NO_CLOUD_USAGE: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

/** Nothing was sent to the cluster. */
export const NO_CLUSTER_USAGE: ClusterUsage = {
  writes: 0,
  reads: 0,
  conflicts: 0,
  throttled: 0,
  events: 0,
  eventsDropped: 0,
};

/** What two parts of an invocation took together. */
export function addUsage(a: CloudUsage, b: CloudUsage): CloudUsage {
  const calls = { ...a.calls };
  for (const [operation, count] of Object.entries(b.calls))
    calls[operation] = (calls[operation] ?? 0) + count;
  return { calls, throttled: a.throttled + b.throttled, waitedMs: a.waitedMs + b.waitedMs };
}

/** The same for requests to the cluster. */
export function addClusterUsage(a: ClusterUsage, b: ClusterUsage): ClusterUsage {
  return {
    writes: a.writes + b.writes,
    reads: a.reads + b.reads,
    conflicts: a.conflicts + b.conflicts,
    throttled: a.throttled + b.throttled,
    events: a.events + b.events,
    eventsDropped: a.eventsDropped + b.eventsDropped,
  };
}

import type { CloudUsage, ClusterUsage } from "#core/report.ts";

/** The usage of an invocation that did not ask the cloud. */
export const NO_CLOUD_USAGE: CloudUsage = { calls: {}, throttled: 0, waitedMs: 0 };

/** The usage of an invocation that sent nothing to the cluster. */
export const NO_CLUSTER_USAGE: ClusterUsage = {
  writes: 0,
  reads: 0,
  conflicts: 0,
  throttled: 0,
  events: 0,
  eventsDropped: 0,
};

/** Returns the total cloud usage of two parts of an invocation. */
export function addUsage(a: CloudUsage, b: CloudUsage): CloudUsage {
  const calls = { ...a.calls };
  for (const [operation, count] of Object.entries(b.calls))
    calls[operation] = (calls[operation] ?? 0) + count;
  return { calls, throttled: a.throttled + b.throttled, waitedMs: a.waitedMs + b.waitedMs };
}

/** Returns the total cluster usage of two parts of an invocation. */
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

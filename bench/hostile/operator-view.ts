/** Reports of a relay's pages and metrics about one cluster. */
export interface OperatorView {
  /** "well", the limit in force, or why the cluster is not ready: names of limits and codes. */
  readonly onPages: readonly string[];
  /** Limits in force, or that have ended something. */
  readonly inMetrics: readonly string[];
}

/** Parses `/readyz/clusters`, or the cluster's own page if that is missing. */
export function listPageIssues(text: string, cluster: string): readonly string[] {
  const troubles = new Set<string>();
  for (const line of text.split("\n")) {
    const [, limit] = new RegExp(`^${cluster} limited: (\\w+)`).exec(line) ?? [];
    const [, code] = new RegExp(`^(?:cluster )?${cluster} (?:is )?not ready: (\\w+)`).exec(line) ?? [];
    for (const found of [limit, code]) if (found !== undefined) troubles.add(found);
  }
  return [...troubles];
}

/** Returns how often a cluster has met each limit; a limit in force counts at least once. */
export function parseLimits(metrics: string, cluster: string): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  const lines = metrics.matchAll(/^serverless_ccm_cluster_limit(?:ed|s_total)\{([^}]*)\} (\S+)$/gm);
  for (const [, labels = "", value] of lines) {
    const limit = /limit="(\w+)"/.exec(labels)?.[1];
    if (limit === undefined || !labels.includes(`cluster="${cluster}"`)) continue;
    limits.set(limit, (limits.get(limit) ?? 0) + Number(value));
  }
  return limits;
}

/** Returns whether metrics report a cluster as not ready. */
export function isUnreadyInMetrics(metrics: string, cluster: string): boolean {
  return new RegExp(`^serverless_ccm_cluster_ready\\{cluster="${cluster}"\\} 0$`, "m").test(metrics);
}

/** Counts invocations in metrics, of all clusters or of one. */
export function countInvocations(metrics: string, cluster?: string): number {
  let sum = 0;
  for (const [, labels = "", value] of metrics.matchAll(
    /^serverless_ccm_invocations_total\{([^}]*)\} (\S+)$/gm,
  ))
    if (cluster === undefined || labels.includes(`cluster="${cluster}"`)) sum += Number(value);
  return sum;
}

/** Returns the limits met since `before`. */
export function listNewLimits(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): readonly string[] {
  return [...now].filter(([limit, count]) => count > (before.get(limit) ?? 0)).map(([limit]) => limit);
}

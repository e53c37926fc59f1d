/** What pages and metrics of a relay say of one cluster. */
export interface Seen {
  /** "well", or what it is limited by, or why it is not ready: names of limits and codes. */
  readonly onPages: readonly string[];
  /** Limits in force, or that have ended something. */
  readonly inMetrics: readonly string[];
}

/** Reads `/readyz/clusters`, or where there is none the cluster's own page. */
export function troublesOnPage(text: string, cluster: string): readonly string[] {
  const troubles = new Set<string>();
  for (const line of text.split("\n")) {
    const [, limit] = new RegExp(`^${cluster} limited: (\\w+)`).exec(line) ?? [];
    const [, code] = new RegExp(`^(?:cluster )?${cluster} (?:is )?not ready: (\\w+)`).exec(line) ?? [];
    for (const found of [limit, code]) if (found !== undefined) troubles.add(found);
  }
  return [...troubles];
}

/** How often each limit of a cluster has been met, and those in force with at least once. */
export function limitsInMetrics(metrics: string, cluster: string): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  const lines = metrics.matchAll(/^serverless_ccm_cluster_limit(?:ed|s_total)\{([^}]*)\} (\S+)$/gm);
  for (const [, labels = "", value] of lines) {
    const limit = /limit="(\w+)"/.exec(labels)?.[1];
    if (limit === undefined || !labels.includes(`cluster="${cluster}"`)) continue;
    limits.set(limit, (limits.get(limit) ?? 0) + Number(value));
  }
  return limits;
}

/** Whether metrics say of a cluster that it is not ready. */
export function isUnreadyInMetrics(metrics: string, cluster: string): boolean {
  return new RegExp(`^serverless_ccm_cluster_ready\\{cluster="${cluster}"\\} 0$`, "m").test(metrics);
}

/** Invocations by metrics, of all clusters or of one. */
export function invocationsOf(metrics: string, cluster?: string): number {
  let sum = 0;
  for (const [, labels = "", value] of metrics.matchAll(
    /^serverless_ccm_invocations_total\{([^}]*)\} (\S+)$/gm,
  ))
    if (cluster === undefined || labels.includes(`cluster="${cluster}"`)) sum += Number(value);
  return sum;
}

/** What has been met since `before`. */
export function metSince(
  before: ReadonlyMap<string, number>,
  now: ReadonlyMap<string, number>,
): readonly string[] {
  return [...now].filter(([limit, count]) => count > (before.get(limit) ?? 0)).map(([limit]) => limit);
}

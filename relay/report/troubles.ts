import type { LimitName } from "#kube/client/limit-name.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ClusterNote } from "#relay/report/note.ts";

/** Something of a cluster that failed, or was limited, is well again. */
export interface Recovered {
  readonly kind: "recovered";
  readonly resource: string;
  /** Of what failed last … */
  readonly code?: string | undefined;
  /** … or what was in force. */
  readonly limit?: LimitName | undefined;
  /** Since it failed first, or was in force. */
  readonly durationMs: number;
}

/** What is wrong with a cluster's resources, by what is told of them. */
export interface Troubles {
  /** Answers with what is well again because of it. */
  after(note: ClusterNote): readonly Recovered[];
}

/** The codes that are known by their limits. */
const LIMITED = "ClusterLimited";

/** No troubles yet; they are bounded by the resources of a cluster and its limits. */
export function createTroubles(clock: Clock): Troubles {
  const failing = new Map<string, { readonly sinceMs: number; readonly code: string }>();
  const limited = new Map<string, number>();

  function opened(resource: string): readonly Recovered[] {
    const failed = failing.get(resource);
    failing.delete(resource);
    if (failed === undefined || failed.code === LIMITED) return [];
    return [{ kind: "recovered", resource, code: failed.code, durationMs: clock.now() - failed.sinceMs }];
  }

  function within(resource: string, limits: readonly LimitName[]): readonly Recovered[] {
    return limits.flatMap((limit): Recovered[] => {
      const sinceMs = limited.get(`${resource} ${limit}`);
      limited.delete(`${resource} ${limit}`);
      return sinceMs === undefined
        ? []
        : [{ kind: "recovered", resource, limit, durationMs: clock.now() - sinceMs }];
    });
  }

  return {
    after(note) {
      if (note.kind !== "watch") return [];
      const { resource, note: watch } = note;
      switch (watch.kind) {
        case "failed":
          failing.set(resource, { sinceMs: failing.get(resource)?.sinceMs ?? clock.now(), code: watch.code });
          return [];
        case "opened":
          return opened(resource);
        case "limited": {
          const key = `${resource} ${watch.limit}`;
          limited.set(key, limited.get(key) ?? clock.now());
          return [];
        }
        case "within-limits":
          return within(resource, watch.limits);
        case "listed":
        case "ended":
        case "malformed":
          return [];
      }
    },
  };
}

import type { LimitName } from "#kube/client/errors.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { ClusterNote, Recovery } from "#relay/report/relay-note.ts";

/** Tracks what is wrong with a cluster's resources, from the relay's notes. */
export interface IssueTracker {
  /** Takes a note and returns what has recovered because of it. */
  after(note: ClusterNote): readonly Recovery[];
}

/** The code of issues that are tracked by their limit. */
const LIMITED = "ClusterLimited";

/** Creates a tracker without issues; a cluster's resources and its limits bound their number. */
export function createIssueTracker(clock: Clock): IssueTracker {
  const failing = new Map<string, { readonly sinceMs: number; readonly code: string }>();
  const limited = new Map<string, number>();

  function opened(resource: string): readonly Recovery[] {
    const failed = failing.get(resource);
    failing.delete(resource);
    if (failed === undefined || failed.code === LIMITED) return [];
    return [{ kind: "recovered", resource, code: failed.code, durationMs: clock.now() - failed.sinceMs }];
  }

  function within(resource: string, limits: readonly LimitName[]): readonly Recovery[] {
    return limits.flatMap((limit): Recovery[] => {
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

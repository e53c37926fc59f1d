import type { Judge } from "#cli/handover/check/judge.ts";
import type { Tally } from "#cli/handover/check/tally.ts";
import type { Controller } from "#core/controller.ts";
import { compareInitialized, isPassing } from "#core/handover-check/compare.ts";
import { getWrittenIdentity } from "#core/handover-check/lifecycle.ts";
import { type ObservedNode, restoreUninitialized } from "#core/handover-check/observed-node.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** Nodes that another controller initializes, followed until they can be compared. */
export interface Initializations {
  /** Records the current state of a node. */
  observe(observed: ObservedNode): void;
  /** Forgets a deleted node. */
  forget(uid: string): void;
  /** Compares the due nodes, at most one batch. Returns how many nodes remain to be compared. */
  compareDue(): Promise<number>;
  /** Reports the remaining nodes when the watch ends. */
  end(): void;
}

export interface InitializationsOptions {
  readonly controller: Controller;
  readonly judge: Judge;
  readonly tally: Tally;
  readonly labelPrefixes: readonly string[];
  /** Called with the instance that a node would record as its origin. */
  readonly onIdentity?: (uid: string, identity: string | undefined) => void;
  /**
   * A node must not change for this many milliseconds before it is compared; it waits at most six times as
   * long.
   */
  readonly settleMs: number;
  /** Returns a monotonic time in milliseconds. */
  readonly now: () => number;
}

/** The number of nodes in one call to the cloud. */
const BATCH = 100;
/** The number of calls to the cloud before a node is given up. */
const MAX_TRIES = 5;
/** A node that waits this long for a controller is stuck. */
const STUCK_MS = 60_000;

interface TrackedInitialization {
  /** The node as last seen with the taint; undefined if it never had it. */
  readonly before: Node | undefined;
  readonly after: ObservedNode | undefined;
  readonly firstMs: number;
  /** When it was first seen without the taint, and last seen to change. */
  readonly untaintedMs: number;
  readonly changedMs: number;
  readonly tries: number;
  /** Whether it was reported that no controller initializes it. */
  readonly isReported: boolean;
}

/** Creates an empty set; it holds no more nodes than it sees at a time. */
export function createInitializations(options: InitializationsOptions): Initializations {
  const { controller, judge, tally, labelPrefixes, settleMs, now } = options;
  const entries = new Map<string, TrackedInitialization>();
  /** Nodes that are compared or excluded, by uid, so that heartbeats do not bring them back. */
  const done = new Set<string>();

  function isDue({ after, untaintedMs, changedMs }: TrackedInitialization): boolean {
    return after !== undefined && (now() - changedMs >= settleMs || now() - untaintedMs >= 6 * settleMs);
  }

  function isStuck({ after, firstMs, isReported }: TrackedInitialization): boolean {
    return after === undefined && !isReported && now() - firstMs >= STUCK_MS;
  }

  function finish(uid: string): void {
    entries.delete(uid);
    done.add(uid);
  }

  async function compareBatch(due: readonly (readonly [string, TrackedInitialization])[]): Promise<void> {
    const befores = due.map(([, { before, after }]) => before ?? restoreUninitialized(after as ObservedNode));
    const decisions = await judge.decide(controller, befores, "watch");
    for (const [index, [uid, entry]] of due.entries()) {
      const [before, decision] = [befores[index], decisions[index]];
      if (before === undefined || decision === undefined || entry.after === undefined) continue;
      const after = entry.after.node;
      const compared = compareInitialized(before, after, decision, labelPrefixes);
      if (compared.kind === "compared") {
        tally.compared(compared.differences);
        options.onIdentity?.(uid, getWrittenIdentity(before, decision));
        finish(uid);
      } else if (entry.tries + 1 < MAX_TRIES) {
        entries.set(uid, { ...entry, tries: entry.tries + 1, changedMs: now(), untaintedMs: now() });
      } else {
        tally.uncompared("cloud");
        finish(uid);
      }
    }
  }

  async function judgeStuck(stuck: readonly (readonly [string, TrackedInitialization])[]): Promise<void> {
    const nodes = stuck.flatMap(([, { before }]) => before ?? []);
    const decisions = await judge.decide(controller, nodes, "watch");
    for (const [index, [uid, entry]] of stuck.entries()) {
      const [node, decision] = [nodes[index], decisions[index]];
      if (node === undefined || decision === undefined || isPassing(decision)) continue;
      entries.set(uid, { ...entry, isReported: true });
      if (decision.kind !== "change") continue;
      const { name } = node.metadata;
      const theirs = `tainted for ${Math.round((now() - entry.firstMs) / 1_000)} s and longer`;
      tally.compared([{ code: "InitializedByUsAlone", node: name, ours: decision.because.message, theirs }]);
    }
  }

  return {
    observe(observed) {
      const { node } = observed;
      const { uid } = node.metadata;
      if (done.has(uid)) return;
      const known = entries.get(uid);
      const fresh = { before: undefined, after: undefined, firstMs: now(), tries: 0, isReported: false };
      const entry = known ?? { ...fresh, untaintedMs: now(), changedMs: now() };
      if (isUninitialized(node)) {
        entries.set(uid, { ...entry, before: node, after: undefined });
        return;
      }
      if (observed.initializedBy === "ours") {
        tally.uncompared("ours");
        return finish(uid);
      }
      const untaintedMs = entry.after === undefined ? now() : entry.untaintedMs;
      entries.set(uid, { ...entry, after: observed, untaintedMs, changedMs: now() });
    },
    forget(uid) {
      if (entries.delete(uid)) tally.uncompared("gone");
      done.delete(uid);
    },
    async compareDue() {
      const due = [...entries].filter(([, entry]) => isDue(entry)).slice(0, BATCH);
      if (due.length > 0) await compareBatch(due);
      const stuck = [...entries].filter(([, entry]) => isStuck(entry)).slice(0, BATCH);
      if (stuck.length > 0) await judgeStuck(stuck);
      return [...entries.values()].filter(({ after }) => after !== undefined).length;
    },
    end() {
      for (const { after, tries } of entries.values())
        if (after !== undefined) tally.uncompared(tries > 0 ? "cloud" : "unsettled");
    },
  };
}

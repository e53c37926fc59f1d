import type { Judge } from "#cli/handover/check/judge.ts";
import type { Tally } from "#cli/handover/check/tally.ts";
import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { Controller, StateResult } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { type DifferenceCode, isPassing } from "#core/handover-check/compare.ts";
import {
  compareDeletion,
  compareLifecycle,
  isDeletion,
  withIdentity,
} from "#core/handover-check/lifecycle.ts";
import type { Node } from "#core/node/node.ts";
import type { NodeSettings } from "#core/node/settings.ts";
import { isReady, needsWork } from "#core/node-lifecycle/needs-work.ts";
import { STATE_KEY, STATE_VERSION } from "#core/node-lifecycle/state.ts";

/**
 * Nodes that are not Ready, or were not when they disappeared, for a comparison with the other node lifecycle
 * controller.
 */
export interface Lifecycles {
  seen(node: Node): void;
  gone(uid: string): void;
  /** Records the instance that a node was initialized from. */
  identified(uid: string, identity: string | undefined): void;
  /** Judges what is due, at most one batch. */
  compareDue(): Promise<void>;
  end(): void;
}

export interface LifecyclesOptions {
  readonly controller: Controller;
  readonly judge: Pick<Judge, "plan">;
  readonly tally: Tally;
  readonly settings: NodeSettings;
  /** Milliseconds that the other controller has to react to a changed node. */
  readonly settleMs: number;
  readonly now: () => number;
}

/** The number of nodes in one call to the cloud. */
const BATCH = 100;
/** How often a node is checked. */
const EVERY_MS = 5_000;
/**
 * Our grace period of deletion and one more check: an earlier deletion by the other controller is no
 * difference if we delete by then.
 */
const BEYOND_GRACE_MS = 20_000;
/** The limit of shared writes in a row. */
const MAX_ROUNDS = 6;

interface TrackedNode {
  readonly node: Node;
  readonly changedMs: number;
  readonly judgedMs: number;
  /** When the node disappeared; undefined for an existing one. */
  readonly goneMs: number | undefined;
  readonly told: readonly DifferenceCode[];
}

/** Creates an empty set; it keeps the deletion state in memory instead of in the cluster's ConfigMap. */
export function createLifecycles(options: LifecyclesOptions): Lifecycles {
  const { controller, judge, tally, settings, settleMs, now } = options;
  const followed = new Map<string, TrackedNode>();
  const identities = new Map<string, string>();
  const present = new Set<string>();
  let state: StateResult = { kind: "object", object: createEmptyState() };
  const lateMs = settings.deletion.graceSeconds * 1_000 + BEYOND_GRACE_MS;

  function isDue({ changedMs, judgedMs, goneMs }: TrackedNode): boolean {
    return now() - judgedMs >= EVERY_MS && (goneMs !== undefined || now() - changedMs >= settleMs);
  }

  async function decide(nodes: readonly Node[]): Promise<readonly Decision[]> {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const count = { kind: "count", count: present.size + nodes.length } as const;
      const plan = await judge.plan(controller, nodes, "monitor", { state, count });
      if (plan.kind === "each") return plan.decisions;
      if (plan.write.verb === "update") state = { kind: "object", object: plan.write.body };
    }
    return [];
  }

  function settle(uid: string, entry: TrackedNode, decision: Decision): void {
    const { node, goneMs } = entry;
    if (goneMs === undefined) {
      const fresh = compareLifecycle(node, decision).filter(({ code }) => !entry.told.includes(code));
      if (fresh.length > 0) tally.compared(fresh);
      followed.set(uid, {
        ...entry,
        told: [...entry.told, ...fresh.map(({ code }) => code)],
        judgedMs: now(),
      });
      return;
    }
    const isOver = now() - goneMs >= lateMs;
    if (!isDeletion(decision) && !isOver) {
      followed.set(uid, { ...entry, judgedMs: now() });
      return;
    }
    followed.delete(uid);
    identities.delete(uid);
    if (isPassing(decision)) tally.uncompared("cloud");
    else tally.compared(isDeletion(decision) ? [] : [compareDeletion(node, decision)]);
  }

  return {
    seen(node) {
      const { uid } = node.metadata;
      present.add(uid);
      const entry = followed.get(uid);
      // A node that waits for its first initialization belongs to the node controller until it was seen with
      // an instance.
      if (!needsWork(withIdentity(node, identities.get(uid)), settings)) {
        followed.delete(uid);
        return;
      }
      const isSame = entry !== undefined && isReady(entry.node) === isReady(node);
      const changedMs = isSame ? entry.changedMs : now();
      followed.set(uid, {
        node,
        changedMs,
        judgedMs: entry?.judgedMs ?? Number.NEGATIVE_INFINITY,
        goneMs: undefined,
        told: entry?.told ?? [],
      });
    },
    gone(uid) {
      present.delete(uid);
      const entry = followed.get(uid);
      // A Ready node is deleted by a person, or by a controller that removes machines.
      if (entry === undefined || isReady(entry.node)) {
        followed.delete(uid);
        identities.delete(uid);
      } else followed.set(uid, { ...entry, goneMs: now(), judgedMs: Number.NEGATIVE_INFINITY });
    },
    identified(uid, identity) {
      if (identity !== undefined && present.has(uid)) identities.set(uid, identity);
    },
    async compareDue() {
      const due = [...followed].filter(([, entry]) => isDue(entry)).slice(0, BATCH);
      if (due.length === 0) return;
      const decisions = await decide(due.map(([uid, { node }]) => withIdentity(node, identities.get(uid))));
      for (const [index, [uid]] of due.entries()) {
        const [entry, decision] = [followed.get(uid), decisions[index]];
        if (entry !== undefined && decision !== undefined) settle(uid, entry, decision);
      }
    },
    end() {
      for (const { goneMs } of followed.values()) if (goneMs !== undefined) tally.uncompared("unsettled");
    },
  };
}

/** The state as `infra/state` creates it. */
function createEmptyState(): unknown {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: SYSTEM_NAMESPACE, name: STATE_CONFIG_MAP, uid: "check", resourceVersion: "1" },
    data: { [STATE_KEY]: JSON.stringify({ version: STATE_VERSION }) },
  };
}

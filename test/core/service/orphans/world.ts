import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext, DoneWrite, RelatedObjects, Subject } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { ObjectReport } from "#core/report.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import type { DroppedOrphans, LoadBalancerModel, LoadBalancerStep } from "#core/service/model.ts";
import type { OrphanAnswer } from "#core/service/orphans/audit.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";
import { existingServices } from "#core/service/orphans/existing-services.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { createShelfModel } from "#test/core/service/builders.ts";

export const NOON_MS = Date.parse("2026-03-01T12:00:00Z");
export const MINUTE_MS = 60_000;

/** A load balancer of the emulated cloud, with a number of parts that are deleted after it. */
export interface Held {
  readonly service: string;
  readonly uid: string;
  readonly isPart?: true;
  readonly mark?: string;
  readonly parts: number;
}

/** A simulated cluster and its cloud, with faults. */
export interface OrphansUnderTest {
  nowMs: number;
  readonly held: Map<string, Held>;
  /** The Services' uids, by `namespace/name`. */
  readonly services: Map<string, string>;
  isDeleting: boolean;
  /** The cloud's holdings are entries, which are dropped. */
  areLines: boolean;
  /** Services of another type. */
  readonly plain: Set<string>;
  /** Services that are missing in every list. */
  readonly unlisted: Set<string>;
  /** Replaces the next step of the model. */
  step: LoadBalancerStep | undefined;
  /** Shared resources of load balancers without users. */
  unused: readonly string[];
  /** The cloud's model has no shared resources. */
  cannotTidy: boolean;
  /** The results of actions with these names, in place of their execution. */
  readonly failing: Map<string, Reason>;
  /** Completed actions, as `action target`, with their times. */
  readonly done: { readonly what: string; readonly atMs: number }[];
}

export function createWorld(isDeleting = true): OrphansUnderTest {
  return {
    nowMs: NOON_MS,
    held: new Map(),
    services: new Map(),
    isDeleting,
    areLines: false,
    plain: new Set(),
    unlisted: new Set(),
    step: undefined,
    unused: [],
    cannotTidy: false,
    failing: new Map(),
    done: [],
  };
}

/** Adds a Service with a load balancer. */
export function serve(world: OrphansUnderTest, name: string, uid = formatUid(name)): void {
  world.services.set(`default/${name}`, uid);
  world.held.set(`lb-${name}`, { service: `default/${name}`, uid: plain(uid), parts: 1 });
}

/** Of fixed length, so that no uid is a prefix of another. */
export function formatUid(name: string): string {
  return `uid-of-${name}`.padEnd(24, "0");
}

/** Deletes the Service without cleanup. */
export function removeService(world: OrphansUnderTest, name: string): void {
  world.services.delete(`default/${name}`);
}

export const namespace: ClusterObject = {
  metadata: {
    name: "kube-system",
    uid: "cluster-uid",
    resourceVersion: "1",
    creationTimestamp: new Date(0).toISOString(),
  },
};

function modelOf(world: OrphansUnderTest): LoadBalancerModel {
  const act = (action: string, target: string, more: Record<string, unknown> = {}): LoadBalancerStep => ({
    kind: "act",
    because: { code: action, message: target },
    actions: [{ action, target, parameters: more }],
  });
  const marks: Pick<DroppedOrphans, "mark" | "unmark"> = {
    mark: ({ id }, text) => ({ action: "Mark", target: id, parameters: { text } }),
    unmark: ({ id }) => ({ action: "Unmark", target: id, parameters: {} }),
  };
  if (world.areLines) {
    const drop: DroppedOrphans["drop"] = ({ id }) => ({ action: "Drop", target: id, parameters: {} });
    return { ...createShelfModel(), orphans: { ...marks, drop } };
  }
  return {
    ...createShelfModel(),
    orphans: {
      ...marks,
      ...(world.cannotTidy
        ? {}
        : {
            tidyShared: (shared: unknown) =>
              (shared as readonly string[]).map((target) => ({ action: "Tidy", target, parameters: {} })),
          }),
      planStep({ id, isPart }, observed) {
        if (world.step !== undefined) return world.step;
        const { isThere, parts } = observed as { readonly isThere: boolean; readonly parts: number };
        if (isThere && !isPart) return act("Delete", id);
        return parts > 0 ? act("DeletePart", id) : { kind: "settled", ingress: [], warnings: [] };
      },
    },
    applyResult: (observed, { action }) => {
      const { parts } = observed as { readonly parts: number };
      return action === "Delete" ? { isThere: false, parts } : { isThere: false, parts: parts - 1 };
    },
  };
}

export interface Pass {
  /** The number of actions before the process ends. */
  readonly steps?: number;
  readonly answer?: OrphanAnswer;
  readonly isUnanswered?: true;
  readonly count?: DecisionContext["count"];
  readonly related?: RelatedObjects;
  readonly provider?: string;
}

/**
 * One invocation: asks, decides and applies until nothing follows; undefined if the process ended earlier.
 */
export async function runPass(
  world: OrphansUnderTest,
  options: Pass = {},
): Promise<{ readonly decision: Decision | undefined; readonly told: ObjectReport["orphans"] }> {
  const { steps = Number.POSITIVE_INFINITY, provider = "shelf" } = options;
  const controller = createOrphanController({
    shelf: async () => modelOf(world),
    plain: async () => createShelfModel(),
  });
  await controller.load?.(provider);
  const listed = [...world.services].filter(([key]) => !world.unlisted.has(key));
  const items = listed.map(([key, uid]) => {
    const [ofNamespace, name] = key.split("/");
    const spec = { type: world.plain.has(key) ? "ClusterIP" : "LoadBalancer" };
    return existingServices.project({ metadata: { namespace: ofNamespace, name, uid }, spec });
  });
  const context = {
    reason: "refresh" as const,
    now: new Date(world.nowMs),
    related: options.related ?? { services: { resourceVersion: "1", items } },
    settings: {
      ...DEFAULT_SETTINGS,
      cloud: { provider },
      loadBalancers: { max: 100, deleteOrphaned: world.isDeleting },
    },
  };
  const question = controller.buildQuestion(namespace, context);
  const isAsked = question !== undefined && options.isUnanswered !== true;
  const answer = isAsked ? (options.answer ?? observed(world)) : undefined;
  let subject: Subject<ClusterObject, OrphanAnswer> = { object: namespace, answer, hint: undefined };
  const counted = options.count ?? ({ kind: "count", count: world.services.size } as const);
  const count = controller.getStateReference?.([subject], context) === undefined ? undefined : counted;
  const told = () => controller.listOrphans?.(subject, context);
  let taken = 0;
  for (let round = 0; round < 6; round += 1) {
    const plan = controller.decide([subject], { ...context, count });
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    if (decision?.kind !== "change") return { decision, told: told() };
    for (const write of decision.writes) {
      if (write.on !== "cloud") throw new Error("nothing is written to the cluster");
      if (taken === steps) return { decision: undefined, told: undefined };
      taken += 1;
      const done = carryOut(world, write);
      if (done.failed !== undefined && decision.independent === undefined) {
        const answered = { kind: "error", code: "Unavailable", message: done.failed.message } as const;
        const refused = controller.decideRejected?.(subject, { action: write, answer: answered }, context);
        return { decision: refused, told: told() };
      }
      subject = controller.applyResult?.(subject, done) ?? subject;
    }
  }
  throw new Error("there is no end to it");
}

function observed(world: OrphansUnderTest): OrphanAnswer {
  const holdings = [...world.held].map(([id, { service, uid, mark, isPart }]): Holding => {
    const traits = {
      ...(mark === undefined ? {} : { mark }),
      ...(isPart === undefined ? { uid } : { isPart }),
    };
    return { kind: isPart ? "part" : "load balancer", id, name: id, service, ...traits };
  });
  const next = selectOldestMark(holdings, world.nowMs);
  const state: HoldingsState = { holdings, ...(world.unused.length === 0 ? {} : { shared: world.unused }) };
  if (next !== undefined) {
    const { isPart, parts } = world.held.get(next.id) ?? { parts: 0 };
    state.removable = { id: next.id, state: { isThere: isPart === undefined, parts } };
  }
  return { kind: "observed", state };
}

function carryOut(world: OrphansUnderTest, write: CloudAction): DoneWrite {
  const { action, target, parameters, precondition } = write;
  const { absent } = precondition;
  const failed = world.failing.get(action);
  if (failed !== undefined) return { write, result: undefined, failed };
  const key = `${absent?.namespace}/${absent?.name}`;
  const there = absent === undefined ? undefined : world.services.get(key);
  const stored: Record<string, unknown> = {
    "/metadata/uid": there,
    "/spec/type": world.plain.has(key) ? "ClusterIP" : "LoadBalancer",
  };
  if (there !== undefined && (absent?.having?.every(({ path, value }) => value === stored[path]) ?? true))
    return { write, result: undefined, failed: { code: "Present", message: "it is there" } };
  if (action === "Tidy") world.done.push({ what: `${action} ${target}`, atMs: world.nowMs });
  const before = world.held.get(target);
  if (before === undefined) return { write, result: {} };
  world.done.push({ what: `${action} ${target}`, atMs: world.nowMs });
  const { mark: _, ...rest } = before;
  if (action === "Mark") world.held.set(target, { ...rest, mark: String(parameters["text"]) });
  else if (action === "Unmark") world.held.set(target, rest);
  else if (action === "Delete" && before.parts > 0) world.held.set(target, { ...before, isPart: true });
  else world.held.delete(target);
  return { write, result: {} };
}

function plain(uid: string): string {
  return uid.replaceAll("-", "");
}

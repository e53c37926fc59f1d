import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Controller, Subject } from "#core/controller.ts";
import type { Decision, PatchWrite, Plan, Write } from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { ApiObject } from "#core/watch.ts";
import { CONTROL_PLANE_USERS, type ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import type { Invoker } from "#platforms/invoker.ts";

/** A plausible mistake that a fuzzer must find. */
export interface PlantedDefect {
  readonly title: string;
  readonly controller?: (controller: Controller) => Controller;
  readonly invoker?: (invoker: Invoker) => Invoker;
  readonly user?: ControlPlaneUser;
  /** Matches the broken invariant that reveals it. */
  readonly found: RegExp;
  /** A seed that finds it early, if the usual seed finds it late. */
  readonly seed?: number;
}

/** The mistakes, each in one place. */
export const PLANTED_DEFECTS: readonly PlantedDefect[] = [
  {
    title: "the taint goes before the addresses come",
    controller: (each) => withWrites(each, (writes) => writes.toReversed().map(withoutAddresses)),
    found: /naked/,
  },
  {
    title: "the taint goes whatever has become of the addresses",
    controller: (each) => withWrites(each, (writes) => writes.map(withoutAddresses)),
    found: /naked/,
  },
  {
    title: "the list of taints is written whole",
    controller: (each) => withWrites(each, (writes, node) => writes.map((write) => wholeTaints(write, node))),
    found: /changed others' taints/,
  },
  {
    title: "the labels are written whole",
    controller: (each) => withWrites(each, (writes) => writes.map(wholeLabels)),
    found: /changed the label/,
  },
  {
    title: "the uid is not tested, and neither is what was read",
    controller: (each) => withWrites(each, (writes) => writes.map(withoutTests)),
    found: /changed others' taints|naked|changed the provider ID|at rest/,
  },
  {
    title: "a node is deleted at the first answer that there is no such instance",
    user: { ...CONTROL_PLANE_USERS.admin, name: "deleter" },
    controller: deletingAtOnce,
    found: /was deleted|was the last node/,
  },
  {
    title: "one answer that there is no such instance is proof enough",
    controller: (each) => withSettings(each, { graceSeconds: 0 }),
    found: /was deleted/,
  },
  {
    title: "the brake holds nothing back",
    controller: (each) => withSettings(each, { maxPercentIn10Minutes: 100, maxPercentIn24Hours: 100 }),
    found: /were deleted in/,
  },
  {
    title: "what is Ready is deleted as well",
    controller: (each) => readingReady(each, () => undefined),
    found: /although it is Ready/,
  },
  {
    title: "what the kubelet of another machine reports in is deleted",
    controller: (each) => readingReady(each, (ready) => (ready === "False" ? "Unknown" : ready)),
    found: /was deleted although the kubelet of i-\w+ reports in it/,
    seed: 3,
  },
  {
    title: "an initialized node is never looked at again",
    controller: ({ rechecks: _, ...each }) => each,
    found: /at rest: (addresses|naked)/,
  },
  {
    title: "an answer that was lost is taken for an end",
    invoker: (inner) => ({
      ...inner,
      invoke: async (event, signal) => {
        const invocation = await inner.invoke(event, signal);
        return invocation.kind === "failed" ? { ...invocation, settleMs: 0 } : invocation;
      },
    }),
    found: /while it was in flight/,
  },
  {
    title: "an invocation that fails is waited for for ever",
    invoker: (inner) => ({
      ...inner,
      invoke: async (event, signal) => {
        const invocation = await inner.invoke(event, signal);
        return invocation.kind === "failed" ? new Promise(() => {}) : invocation;
      },
    }),
    found: /at rest: tainted|in flight for ever/,
  },
];

function withDecisions(
  controller: Controller,
  change: (decision: Decision, node: Node, index: number) => Decision,
): Controller {
  return {
    ...controller,
    decide(batch, context): Plan {
      const plan = controller.decide(batch, context);
      if (plan.kind !== "each") return plan;
      const decisions = plan.decisions.map((each, index) =>
        change(each, batch[index]?.object as ApiObject as Node, index),
      );
      return { ...plan, decisions };
    },
  };
}

function withWrites(
  controller: Controller,
  change: (writes: readonly Write[], node: Node) => readonly Write[],
): Controller {
  return withDecisions(controller, (decision, node) =>
    decision.kind === "change"
      ? { ...decision, writes: change(decision.writes, node) as typeof decision.writes }
      : decision,
  );
}

/** Decides with other deletion settings than the cluster's. */
function withSettings(controller: Controller, deletion: Partial<DeletionSettings>): Controller {
  return {
    ...controller,
    decide(batch, context): Plan {
      const { nodes } = context.settings;
      const settings = {
        ...context.settings,
        nodes: { ...nodes, deletion: { ...nodes.deletion, ...deletion } },
      };
      return controller.decide(batch, { ...context, settings });
    },
  };
}

/** Reads a false Ready status where nodes are deleted. */
function readingReady(
  controller: Controller,
  read: (ready: string | undefined) => string | undefined,
): Controller {
  if (controller.name !== nodeLifecycleWatch.name) return controller;
  const blind = <T extends ApiObject>(object: T): T => {
    const { status } = object as ApiObject as Node;
    const conditions = (status.conditions ?? []).flatMap((each) => {
      const ready = each.type === "Ready" ? read(each.status) : each.status;
      return ready === undefined ? [] : [{ ...each, status: ready }];
    });
    return { ...object, status: { ...status, conditions } };
  };
  const blindBatch = (batch: readonly Subject[]): readonly Subject[] =>
    batch.map((subject) => ({ ...subject, object: blind(subject.object) }));
  const { getStateReference } = controller;
  return {
    ...controller,
    needsWork: (object, context) => controller.needsWork(blind(object), context),
    snapshot: (object, context) => blind(controller.snapshot(object, context)),
    buildQuestion: (object, context) => controller.buildQuestion(blind(object), context),
    // The read for a decision and the decision must agree; otherwise no state is read and nothing is deleted.
    ...(getStateReference && {
      getStateReference: (batch, context) => getStateReference(blindBatch(batch), context),
    }),
    decide: (batch, context) => controller.decide(blindBatch(batch), context),
  };
}

function isPatch(write: Write): write is PatchWrite {
  return write.on === "cluster" && write.verb === "patch";
}

function wholeTaints(write: Write, { spec }: Node): Write {
  if (!isPatch(write) || !write.patch.some(({ path }) => path.startsWith("/spec/taints"))) return write;
  const value = (spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED_TAINT);
  const others = write.patch.filter(({ path }) => !path.startsWith("/spec/taints"));
  const tests = write.precondition.filter(({ path }) => !path.startsWith("/spec/taints"));
  return {
    ...write,
    patch: [{ op: "add", path: "/spec/taints", value }, ...others],
    precondition: tests as PatchWrite["precondition"],
  };
}

function wholeLabels(write: Write): Write {
  if (!isPatch(write)) return write;
  const ours = write.patch.flatMap((each) =>
    each.op === "add" && each.path.startsWith("/metadata/labels/") ? [each] : [],
  );
  if (ours.length === 0) return write;
  const value = Object.fromEntries(
    ours.map((each) => [(each.path.split("/").at(-1) ?? "").replaceAll("~1", "/"), each.value]),
  );
  const others = write.patch.filter(({ path }) => !path.startsWith("/metadata/labels/"));
  return { ...write, patch: [{ op: "add", path: "/metadata/labels", value }, ...others] };
}

/** Removes the precondition on the addresses. */
function withoutAddresses(write: Write): Write {
  if (!isPatch(write)) return write;
  const [uid, ...others] = write.precondition;
  return { ...write, precondition: [uid, ...others.filter(({ path }) => path !== "/status/addresses")] };
}

function withoutTests(write: Write): Write {
  if (!isPatch(write)) return write;
  const [uid] = write.precondition;
  return { ...write, precondition: [{ ...uid, path: "/kind", value: "Node" }] };
}

function deletingAtOnce(controller: Controller): Controller {
  return {
    ...controller,
    decide(batch, context): Plan {
      const plan = controller.decide(batch, context);
      if (plan.kind !== "each") return plan;
      const decisions = plan.decisions.map((decision, index): Decision => {
        const subject = batch[index];
        const answer = subject?.answer as { readonly kind: string } | undefined;
        if (subject === undefined || answer?.kind !== "not-found") return decision;
        const { name, uid } = subject.object.metadata;
        const gone: Write = {
          on: "cluster",
          apiVersion: "v1",
          resource: "nodes",
          name,
          verb: "delete",
          precondition: { uid },
        };
        return {
          kind: "change",
          object: { apiVersion: "v1", kind: "Node", name, uid },
          because: { code: "Gone", message: "not found" },
          writes: [gone],
          events: [],
          warnings: [],
        };
      });
      return { ...plan, decisions };
    },
  };
}

import { NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import type { InstanceController } from "#core/controller.ts";
import type { Node } from "#core/node/node.ts";
import { decideLifecycle, hasCandidate, isAsked, selectStateSubjects } from "#core/node-lifecycle/decide.ts";
import { STATE } from "#core/node-lifecycle/state.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { NODES } from "#core/resources/resource.ts";

/**
 * The cloud-node-lifecycle-controller: taints nodes whose instance is stopped, and deletes those whose
 * instance is gone.
 */
export const nodeLifecycleController: InstanceController<Node> = {
  ...nodeLifecycleWatch,
  eventSource: NODE_LIFECYCLE_EVENT_SOURCE,
  buildQuestion: (node, { settings }) =>
    isAsked(node, settings.nodes) ? { capability: "instances", node, control: true } : undefined,
  getStateReference(batch, { settings, stop }) {
    const subjects = selectStateSubjects(batch, settings, stop);
    if (subjects.length === 0) return undefined;
    return { ...STATE, counted: hasCandidate(subjects) ? NODES : undefined };
  },
  decide: decideLifecycle,
};

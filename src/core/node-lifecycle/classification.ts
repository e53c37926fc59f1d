import { TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Subject } from "#core/controller.ts";
import type { InstanceAnswer, VisibilityProbe } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import {
  findDifference,
  type LocationDifference,
  parseObservedInstance,
  readLocation,
} from "#core/node-lifecycle/location.ts";
import { findReadyCondition } from "#core/node-lifecycle/needs-work.ts";
import { getReplacementFact, type TenantFact } from "#core/tenant-fact.ts";

type NodeSubject = Subject<Node, InstanceAnswer>;
type NotFoundAnswer = Extract<InstanceAnswer, { readonly kind: "not-found" }>;
type FoundAnswer = Extract<InstanceAnswer, { readonly kind: "found" }>;

/** What the cloud's answer means for the lifecycle of a node that is not Ready. */
export type NodeClassification =
  /** Its instance exists, in any state. */
  | { readonly kind: "exists"; readonly answer: FoundAnswer }
  /** The cloud shows its instance as terminated, and the instance is proven to be the node's. */
  | { readonly kind: "terminated"; readonly answer: FoundAnswer }
  /**
   * The cloud does not find the instance, and a visibility probe proves that the right place was searched.
   */
  | { readonly kind: "missed"; readonly answer: NotFoundAnswer; readonly isExpected: boolean }
  /**
   * The cloud does not find the instance, and no probe proves that the right place was searched. `elsewhere`
   * is another instance in the answer, in another place than the node's.
   */
  | {
      readonly kind: "unproven";
      readonly answer: NotFoundAnswer;
      readonly elsewhere: ForeignInstance | undefined;
    }
  /**
   * The instance is gone, another machine now has its name, and a kubelet still reports under the node's
   * name.
   */
  | { readonly kind: "replaced"; readonly successor: TenantFact }
  /** The instance is not found, and no record shows that the node ever had it. */
  | { readonly kind: "unseen"; readonly answer: FoundAnswer | NotFoundAnswer }
  /** The cloud did not answer. */
  | { readonly kind: "error"; readonly answer: Exclude<InstanceAnswer, FoundAnswer | NotFoundAnswer> };

/** An instance that proves nothing about a node, because it is in another place. */
export interface ForeignInstance {
  readonly id: string;
  readonly difference: LocationDifference;
}

/** Classifies the answer about a node; the batch's other answers serve as visibility probes. */
export function classifyAnswer(
  { object: node }: NodeSubject,
  answer: InstanceAnswer,
  batch: readonly NodeSubject[],
  { unseen }: DeletionSettings,
): NodeClassification {
  if (answer.kind === "error") return { kind: "error", answer };
  if (answer.kind === "found" && answer.instance.state !== "terminated") return { kind: "exists", answer };
  const successor = getReplacementFact(answer);
  // A kubelet that reports "not Ready" is alive: its node must stay, because the kubelet would not register
  // again.
  if (successor !== undefined && findReadyCondition(node)?.status === "False")
    return { kind: "replaced", successor };
  const observedInstance = parseObservedInstance(node);
  if (answer.kind === "found")
    return unseen || isThat(node, answer) ? { kind: "terminated", answer } : { kind: "unseen", answer };
  if (observedInstance === undefined && !unseen) return { kind: "unseen", answer };
  const place = readLocation(node);
  let elsewhere: ForeignInstance | undefined;
  for (const control of listVisibilityProbes(answer, batch)) {
    if (control.id === observedInstance?.id) continue;
    const difference = findDifference(place, control);
    if (difference === undefined) return { kind: "missed", answer, isExpected: isExpected(node, answer) };
    elsewhere ??= { id: control.id, difference };
  }
  return { kind: "unproven", answer, elsewhere };
}

/** The cloud's action log shows the deletion, or the autoscaler announced it. */
function isExpected(node: Node, { deleted }: NotFoundAnswer): boolean {
  return deleted === true || isToBeDeleted(node);
}

function isToBeDeleted({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) ?? false;
}

/** Whether a terminated instance is the node's. Its network is not compared, because EC2 forgets it. */
function isThat(node: Node, { instance }: FoundAnswer): boolean {
  const observedInstance = parseObservedInstance(node);
  return observedInstance?.id === instance.id && observedInstance.account === instance.account;
}

/**
 * Yields the instances that the cloud showed at the same time: first the probe in the answer, then the
 * batch's. The first usually suffices.
 */
function* listVisibilityProbes(
  { control }: NotFoundAnswer,
  batch: readonly NodeSubject[],
): Generator<VisibilityProbe> {
  if (control !== undefined) yield control;
  for (const { answer } of batch) if (answer?.kind === "found") yield answer.instance;
}

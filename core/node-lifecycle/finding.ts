import { TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Subject } from "#core/controller.ts";
import type { InstanceAnswer, PositiveControl } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { seenInstance } from "#core/node-lifecycle/identity.ts";
import { readyCondition } from "#core/node-lifecycle/needs-work.ts";
import { findDifference, type PlaceDifference, readPlace } from "#core/node-lifecycle/place.ts";
import type { DeletionSettings } from "#core/settings.ts";
import { successorIn, type TenantFact } from "#core/tenant-fact.ts";

type NodeSubject = Subject<Node, InstanceAnswer>;
type NotFound = Extract<InstanceAnswer, { readonly kind: "not-found" }>;
type Found = Extract<InstanceAnswer, { readonly kind: "found" }>;

/** What the cloud's answer means for the life of a node that is not Ready. */
export type Finding =
  /** Its instance is there, whatever it does. */
  | { readonly kind: "exists"; readonly answer: Found }
  /** The cloud shows that it has ended for good, and it is the node's. */
  | { readonly kind: "terminated"; readonly answer: Found }
  /** The cloud has no such instance, and was looked at in the right place. */
  | { readonly kind: "missed"; readonly answer: NotFound; readonly isExpected: boolean }
  /**
   * The cloud has no such instance, and nothing shows that it was looked at in the right place; `elsewhere` is another instance that
   * it showed, in another place than the node was seen in.
   */
  | { readonly kind: "unproven"; readonly answer: NotFound; readonly elsewhere: Elsewhere | undefined }
  /** It is gone, another machine has its name by now, and somebody's kubelet reports in the node's name. */
  | { readonly kind: "replaced"; readonly successor: TenantFact }
  /** It is not there, and the node is not known to have ever had it. */
  | { readonly kind: "unseen"; readonly answer: Found | NotFound }
  /** Nobody knows. */
  | { readonly kind: "error"; readonly answer: Exclude<InstanceAnswer, Found | NotFound> };

/** An instance that proves nothing about a node, because of where it is. */
export interface Elsewhere {
  readonly id: string;
  readonly difference: PlaceDifference;
}

/** Reads an answer about a node out of a batch of them. */
export function findingOf(
  { object: node }: NodeSubject,
  answer: InstanceAnswer,
  batch: readonly NodeSubject[],
  { unseen }: DeletionSettings,
): Finding {
  if (answer.kind === "error") return { kind: "error", answer };
  if (answer.kind === "found" && answer.instance.state !== "terminated") return { kind: "exists", answer };
  const successor = successorIn(answer);
  // A kubelet that says "not Ready" is there: its node must not go, as it would not register again.
  if (successor !== undefined && readyCondition(node)?.status === "False")
    return { kind: "replaced", successor };
  const seen = seenInstance(node);
  if (answer.kind === "found")
    return unseen || isThat(node, answer) ? { kind: "terminated", answer } : { kind: "unseen", answer };
  if (seen === undefined && !unseen) return { kind: "unseen", answer };
  const place = readPlace(node);
  let elsewhere: Elsewhere | undefined;
  for (const control of controlsIn(answer, batch)) {
    if (control.id === seen?.id) continue;
    const difference = findDifference(place, control);
    if (difference === undefined) return { kind: "missed", answer, isExpected: isExpected(node, answer) };
    elsewhere ??= { id: control.id, difference };
  }
  return { kind: "unproven", answer, elsewhere };
}

/** Whether the cloud's own record shows the deletion, or the autoscaler has announced it. */
function isExpected(node: Node, { deleted }: NotFound): boolean {
  return deleted === true || isToBeDeleted(node);
}

/** Whether the autoscaler has said that it takes the node's instance away. */
function isToBeDeleted({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) ?? false;
}

/** Whether an instance that has ended is the node's. Its network does not count: EC2 forgets it. */
function isThat(node: Node, { instance }: Found): boolean {
  const seen = seenInstance(node);
  return seen?.id === instance.id && seen.account === instance.account;
}

/** Yields the instances that the same pass showed: what the answer was given with, then those of the batch. The first mostly suffices. */
function* controlsIn({ control }: NotFound, batch: readonly NodeSubject[]): Generator<PositiveControl> {
  if (control !== undefined) yield control;
  for (const { answer } of batch) if (answer?.kind === "found") yield answer.instance;
}

import { TO_BE_DELETED_TAINT } from "#core/contracts.ts";
import type { Subject } from "#core/controller.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { type SeenInstance, seenInstance } from "#core/node-lifecycle/identity.ts";
import { readyCondition } from "#core/node-lifecycle/needs-work.ts";
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
  /** The cloud has no such instance, and nothing shows that it was looked at in the right place. */
  | { readonly kind: "unproven"; readonly answer: NotFound }
  /** It is gone, another machine has its name by now, and somebody's kubelet reports in the node's name. */
  | { readonly kind: "replaced"; readonly successor: TenantFact }
  /** It is not there, and the node is not known to have ever had it. */
  | { readonly kind: "unseen"; readonly answer: Found | NotFound }
  /** Nobody knows. */
  | { readonly kind: "error"; readonly answer: Exclude<InstanceAnswer, Found | NotFound> };

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
    return unseen || isThat(seen, answer) ? { kind: "terminated", answer } : { kind: "unseen", answer };
  if (seen === undefined && !unseen) return { kind: "unseen", answer };
  if (!hasControl(seen, answer, batch)) return { kind: "unproven", answer };
  return { kind: "missed", answer, isExpected: isToBeDeleted(node) };
}

/** Whether the autoscaler has said that it takes the node's instance away. */
function isToBeDeleted({ spec }: Node): boolean {
  return spec.taints?.some(({ key }) => key === TO_BE_DELETED_TAINT) ?? false;
}

function isThat(seen: SeenInstance | undefined, { instance }: Found): boolean {
  return seen?.id === instance.id && seen.account === instance.account;
}

/** Whether the same pass showed another instance of the cluster: in the node's own account, as far as both are known. */
function hasControl(
  seen: SeenInstance | undefined,
  { control }: NotFound,
  batch: readonly NodeSubject[],
): boolean {
  if (control !== undefined && control !== seen?.id) return true;
  return batch.some(
    ({ answer }) =>
      answer?.kind === "found" &&
      answer.instance.id !== seen?.id &&
      (seen === undefined || answer.instance.account === seen.account),
  );
}

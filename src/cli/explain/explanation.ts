import { type StopStatus, stopAdvice } from "#cli/deletion/stop-status.ts";
import type { DryDecision } from "#cli/explain/decide-dry.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { IssueCode } from "#core/node/issues.ts";
import type { Node } from "#core/node/node.ts";
import type { WaitCode } from "#core/node-lifecycle/plan.ts";
import type { UnusableCode } from "#core/node-lifecycle/state.ts";
import { findTaintOwner, type TaintOwner } from "#core/taint-owners.ts";

/** Everything known about a node: its state, what the cloud says, what would be done, and what to do. */
export interface Explanation {
  readonly cluster: string;
  /** Undefined if no stop switch is named. */
  readonly stops?: StopStatus | undefined;
  readonly node: Node;
  readonly taints: readonly ExplainedTaint[];
  /** Undefined if no controller asks the cloud about it. */
  readonly cloud: InstanceAnswer | undefined;
  readonly decisions: readonly DryDecision[];
  readonly advice: readonly string[];
}

/** A taint and its owner. */
export interface ExplainedTaint extends TaintOwner {
  readonly key: string;
  readonly effect: string;
}

/** Builds an explanation from what was read and decided. */
export function buildExplanation(
  cluster: string,
  node: Node,
  decisions: readonly DryDecision[],
  stops: StopStatus | undefined,
): Explanation {
  const taints = (node.spec.taints ?? []).map(({ key, effect }) => ({ key, effect, ...findTaintOwner(key) }));
  const cloud = decisions.find(({ answer }) => answer !== undefined)?.answer;
  const held = stopAdvice(
    stops,
    cluster,
    decisions.map(({ report }) => report),
  );
  return { cluster, stops, node, taints, cloud, decisions, advice: buildAdvice(taints, decisions, held) };
}

function buildAdvice(
  taints: readonly ExplainedTaint[],
  decisions: readonly DryDecision[],
  held: string | undefined,
): readonly string[] {
  const writes = decisions.some(({ report }) => hasHeldWrite(report));
  const remedies = decisions.flatMap(({ report: { because, decision } }) => {
    const remedy = findRemedy(decision?.because.code ?? because.code);
    return remedy === undefined ? [] : [`${decision?.because.code ?? because.code}: ${remedy}`];
  });
  const others = taints.filter(({ kind }) => kind !== "ours");
  const isWaiting = taints.some(({ kind }) => kind === "ours");
  const ours = writes ? [held ?? BY_ITSELF] : isWaiting ? [] : [NOTHING_LEFT];
  return [...new Set([...ours, ...remedies, ...others.map(({ key, remedy }) => `${key}: ${remedy}`)])];
}

const BY_ITSELF =
  "the relay sends it to the functions; if this does not change, serverless-ccm doctor shows what stops them";

const NOTHING_LEFT = "no write on this node is serverless-ccm's to do";

/** Returns whether a dry run held back a write. */
export function hasHeldWrite({ because, decision }: DryDecision["report"]): boolean {
  return decision === undefined ? because.code === "DryRun" : decision.kind === "change";
}

/** Codes that come from decisions themselves or from a failed invocation. */
type OtherCode =
  | "BeingDeleted"
  | "BrakePulled"
  | "DeletionDisabled"
  | "DeletionUnproven"
  | "FleetBrakeContended"
  | "FleetBrakeEngaged"
  | "FleetBrakeUnusable"
  | "FleetShareUsed"
  | "InstanceReplaced"
  | "InstanceStopped"
  | "InstanceUnseen"
  | "LabelsOnly"
  | "NotReady"
  | "SignInFailed"
  | "Stopped";

const AGAIN = "none: it is retried automatically";

const STATE =
  "kubectl apply -f infra/state/config-map.yaml, and infra/rbac/; serverless-ccm doctor shows which one is missing";

const IN_CLUSTER =
  "see vpc, clusterTag, region and roleArn of the cluster's cloud, and the instance's VPC and tags";

const WAITS = "none: it is deleted when that is over";

const REMEDIES: Readonly<Record<IssueCode | WaitCode | UnusableCode | OtherCode, string>> = {
  NoAnswer: AGAIN,
  InstanceNotFound: `if the instance runs, ${IN_CLUSTER}; the node's name or provider ID has to name it`,
  InstanceTerminated: "none for the instance, which has ended: delete the node if its kubelet is gone",
  Foreign: IN_CLUSTER,
  Ambiguous: "start the kubelet with --provider-id, or see why two instances have the node's name",
  ForeignProviderID: "start the kubelet with a --provider-id of this cloud, and delete the Node object once",
  InvalidProviderID:
    "start the kubelet with a --provider-id that names an instance, and delete the Node object once",
  InvalidAddress: "correct the annotations or labels with the node's addresses",
  Denied:
    "grant the functions' credentials what they need; serverless-ccm doctor shows what AWS or the cloud answers",
  Throttled: "none: it is retried; if this lasts, others use the account's quotas",
  Unavailable: "none: it is retried; serverless-ccm doctor shows whether the cloud answers at all",
  Aborted: AGAIN,
  ProvidedNodeIPInvalid: "start the kubelet with a --node-ip that is an IP address, or two of them",
  ProvidedNodeIPUnmatched:
    "start the kubelet with a --node-ip that the instance has, of a family in nodeIPFamilies",
  NoNodeAddress:
    "give the instance an address of a family in nodeIPFamilies; without a cloud, start the kubelet with --node-ip",
  InstanceMissed: WAITS,
  DeletionIntended: WAITS,
  DeletionsUnderWay: WAITS,
  DeletionStateFull: WAITS,
  NodeCountUnknown: "see that the identity node-lifecycle may list nodes: kubectl apply -f infra/rbac/",
  StateMissing: STATE,
  StateUnreadable: STATE,
  StateMalformed: STATE,
  StateOfOtherVersion: "run one version of serverless-ccm for the cluster, the newest that wrote the state",
  BeingDeleted: "none: if it stays, see the node's finalizers",
  BrakePulled: "see that the instances are gone, then: serverless-ccm brake --reset",
  DeletionDisabled: "delete the node by hand, or allow nodes.deletion.enabled",
  DeletionUnproven:
    "check that role, region and network are the cluster's; start another instance, or delete the node by hand once its instance is gone",
  FleetBrakeContended: "none: it is retried in a few seconds",
  FleetBrakeEngaged: "see that the instances are gone, then: serverless-ccm brake --fleet --reset",
  FleetBrakeUnusable: "see what the record lacks: serverless-ccm brake --fleet",
  FleetShareUsed: "see that the instances are gone; the next ones go within twelve minutes",
  InstanceReplaced: "delete the node by hand, so that the kubelet of the new instance registers again",
  InstanceStopped: "start the instance, or delete it",
  InstanceUnseen: "delete the node by hand; with nodes.deletion.unseen such nodes are deleted",
  LabelsOnly: "none: the cluster's policies allow only writes of labels",
  NotReady: "see the Ready condition in kubectl describe node, and the kubelet's log on the machine",
  SignInFailed: "serverless-ccm doctor shows what is wrong with the sign-in",
  Stopped: "see who has stopped it, and why: serverless-ccm stop; resume it with --resume",
};

/** Every code with a remedy. */
export const REMEDY_CODES: readonly string[] = Object.keys(REMEDIES);

/**
 * Returns what to do about a decision that writes nothing, by its code; undefined if there is nothing to do
 * or the code is unknown.
 */
export function findRemedy(code: string): string | undefined {
  return Object.hasOwn(REMEDIES, code) ? REMEDIES[code as keyof typeof REMEDIES] : undefined;
}

import { isDeepStrictEqual } from "node:util";
import { SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Change } from "#emulators/api-server/store.ts";

/** The fields of a node that the checks read. */
export interface ObservedNode {
  readonly taints: readonly { readonly key: string }[];
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime?: string;
  }[];
  readonly providerID: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Parses an object of the store. */
export function parseNode({ metadata, spec, status }: StoredObject): ObservedNode {
  const { labels, annotations } = metadata as Partial<Pick<ObservedNode, "labels" | "annotations">>;
  const { taints = [], providerID } = (spec ?? {}) as Partial<Pick<ObservedNode, "taints" | "providerID">>;
  const { addresses = [], conditions = [] } = (status ?? {}) as Partial<
    Pick<ObservedNode, "addresses" | "conditions">
  >;
  return { taints, addresses, conditions, providerID, labels: labels ?? {}, annotations: annotations ?? {} };
}

/** Whether pods can be scheduled on the node although it has no address. */
export function isNaked({ taints, addresses }: ObservedNode): boolean {
  const isReachable = addresses.some(({ type }) => type === "InternalIP" || type === "ExternalIP");
  return !isReachable && !taints.some(({ key }) => key === UNINITIALIZED_TAINT);
}

/** Whether the kubelet reports Ready. */
export function isReady(node: ObservedNode): boolean {
  return getReadyStatus(node) === "True";
}

/** Returns the status of Ready; the controller manager sets "Unknown" if the kubelet is silent. */
export function getReadyStatus({ conditions }: ObservedNode): string | undefined {
  return conditions.find(({ type }) => type === "Ready")?.status;
}

const OUR_TAINTS: ReadonlySet<string> = new Set([UNINITIALIZED_TAINT, SHUTDOWN_TAINT.key]);
const OUR_LABELS =
  /^((failure-domain\.beta|topology)\.kubernetes\.io\/(zone|region)|(beta|node)\.kubernetes\.io\/instance-type|topology\.k8s\.aws\/.*)$/;
const OUR_ANNOTATIONS = /^serverless-ccm\.io\//;

/** Returns the rules that one of our writes to a node breaks. */
export function checkWrite({ type, version, previous }: Change): readonly string[] {
  if (type === "DELETED") return [];
  const { name } = version.object.metadata;
  if (previous === undefined) return [`${name} was created by us`];
  const [before, after] = [parseNode(previous.object), parseNode(version.object)];
  return [
    ...(isNaked(after) && !isNaked(before) ? ["left it naked"] : []),
    ...(isDeepStrictEqual(foreign(before.taints), foreign(after.taints)) ? [] : ["changed others' taints"]),
    ...(after.taints.some(({ key }) => key === UNINITIALIZED_TAINT) &&
    !before.taints.some(({ key }) => key === UNINITIALIZED_TAINT)
      ? ["put the cloud's taint on"]
      : []),
    ...(before.providerID && before.providerID !== after.providerID ? ["changed the provider ID"] : []),
    ...changed(before.labels, after.labels, OUR_LABELS).map((key) => `changed the label ${key}`),
    ...changed(before.annotations, after.annotations, OUR_ANNOTATIONS).map(
      (key) => `changed the annotation ${key}`,
    ),
    ...(isDeepStrictEqual(before.conditions, after.conditions) ? [] : ["changed the conditions"]),
  ].map((what) => `${name}: a write of ours ${what}`);
}

function foreign(taints: ObservedNode["taints"]): ObservedNode["taints"] {
  return taints.filter(({ key }) => !OUR_TAINTS.has(key));
}

function changed(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  ours: RegExp,
): readonly string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => before[key] !== after[key] && !ours.test(key));
}

import { isDeepStrictEqual } from "node:util";
import { SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Change } from "#emulators/api-server/store.ts";

/** A node as far as it is looked at here. */
export interface SeenNode {
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

/** Reads it out of what the store has. */
export function seen({ metadata, spec, status }: StoredObject): SeenNode {
  const { labels, annotations } = metadata as Partial<Pick<SeenNode, "labels" | "annotations">>;
  const { taints = [], providerID } = (spec ?? {}) as Partial<Pick<SeenNode, "taints" | "providerID">>;
  const { addresses = [], conditions = [] } = (status ?? {}) as Partial<
    Pick<SeenNode, "addresses" | "conditions">
  >;
  return { taints, addresses, conditions, providerID, labels: labels ?? {}, annotations: annotations ?? {} };
}

/** Whether pods can be put on it although nobody can reach it. */
export function isNaked({ taints, addresses }: SeenNode): boolean {
  const isReachable = addresses.some(({ type }) => type === "InternalIP" || type === "ExternalIP");
  return !isReachable && !taints.some(({ key }) => key === UNINITIALIZED_TAINT);
}

/** Whether the kubelet says that it is well. */
export function isReady(node: SeenNode): boolean {
  return readyStatus(node) === "True";
}

/** What is said of it: "Unknown" by the controller manager where the kubelet says nothing. */
export function readyStatus({ conditions }: SeenNode): string | undefined {
  return conditions.find(({ type }) => type === "Ready")?.status;
}

const OUR_TAINTS: ReadonlySet<string> = new Set([UNINITIALIZED_TAINT, SHUTDOWN_TAINT.key]);
const OUR_LABELS =
  /^((failure-domain\.beta|topology)\.kubernetes\.io\/(zone|region)|(beta|node)\.kubernetes\.io\/instance-type|topology\.k8s\.aws\/.*)$/;
const OUR_ANNOTATIONS = /^serverless-ccm\.io\//;

/** What one write of ours to a node did that none may do. */
export function faultsOfWrite({ type, version, previous }: Change): readonly string[] {
  if (type === "DELETED") return [];
  const { name } = version.object.metadata;
  if (previous === undefined) return [`${name} was created by us`];
  const [before, after] = [seen(previous.object), seen(version.object)];
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

function foreign(taints: SeenNode["taints"]): SeenNode["taints"] {
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

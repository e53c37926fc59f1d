import { LABEL_PAIRS, SHUTDOWN_TAINT } from "#core/contracts.ts";

/** The controllers of a cloud-controller-manager, by names that `--controllers` accepts. */
export type CcmController =
  | "cloud-node-controller"
  | "cloud-node-lifecycle-controller"
  | "node-route-controller"
  | "service-lb-controller"
  | "tagging";

/** A field manager that wrote a controller's fields on a node. */
export interface NodeWriter {
  readonly manager: string;
  readonly controller: CcmController;
  /** The last change by this manager, as RFC 3339, in whole seconds as on the API server. */
  readonly at: string;
}

/**
 * Returns the last writers of a cloud-controller-manager's fields on a node, by its `managedFields`:
 * addresses, provider ID and the cloud's labels, the shutdown taint, the condition of routes. Kubelets write
 * addresses too, so only the manager's name identifies a controller. Without `managedFields` the result is
 * empty.
 */
export function listNodeWriters(node: unknown): readonly NodeWriter[] {
  const managed = getMemberAt(node, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  const isShutDown = hasShutdownTaintEntry(node);
  return managed.flatMap((entry: unknown): NodeWriter[] => {
    const [manager, at] = [getMemberAt(entry, "manager"), getMemberAt(entry, "time")];
    if (typeof manager !== "string" || typeof at !== "string" || Number.isNaN(Date.parse(at))) return [];
    return listControllers(entry, isShutDown).map((controller) => ({ manager, controller, at }));
  });
}

/** Returns a member of nested objects; undefined if it is missing. */
export function getMemberAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

const CLOUD_LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [`f:${beta}`, `f:${stable}`]);
/** The label of AWS's tagging controller. */
const TAGGING_LABEL = "f:k8s.io/cloud-provider-aws";
/** The key in `managedFields` of the condition that reports a node's routes. */
const ROUTE_CONDITION = 'k:{"type":"NetworkUnavailable"}';

function listControllers(entry: unknown, isShutDown: boolean): readonly CcmController[] {
  const fields = getMemberAt(entry, "fieldsV1");
  const labels = getMemberAt(fields, "f:metadata", "f:labels");
  const found: readonly (readonly [CcmController, boolean])[] = [
    [
      "cloud-node-controller",
      getMemberAt(fields, "f:status", "f:addresses") !== undefined ||
        getMemberAt(fields, "f:spec", "f:providerID") !== undefined ||
        CLOUD_LABELS.some((label) => getMemberAt(labels, label) !== undefined),
    ],
    // The list of taints is one field: its last writer added the shutdown taint or kept it.
    [
      "cloud-node-lifecycle-controller",
      isShutDown && getMemberAt(fields, "f:spec", "f:taints") !== undefined,
    ],
    ["node-route-controller", getMemberAt(fields, "f:status", "f:conditions", ROUTE_CONDITION) !== undefined],
    ["tagging", getMemberAt(labels, TAGGING_LABEL) !== undefined],
  ];
  return found.flatMap(([controller, isFound]) => (isFound ? [controller] : []));
}

function hasShutdownTaintEntry(node: unknown): boolean {
  const taints = getMemberAt(node, "spec", "taints");
  if (!Array.isArray(taints)) return false;
  return taints.some(
    (taint: unknown) =>
      getMemberAt(taint, "key") === SHUTDOWN_TAINT.key &&
      getMemberAt(taint, "effect") === SHUTDOWN_TAINT.effect,
  );
}

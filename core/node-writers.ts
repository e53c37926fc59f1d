import { LABEL_PAIRS, SHUTDOWN_TAINT } from "#core/contracts.ts";

/** The controllers of a cloud-controller-manager, by the names that `--controllers` takes. */
export type CcmController =
  | "cloud-node-controller"
  | "cloud-node-lifecycle-controller"
  | "node-route-controller"
  | "service-lb-controller"
  | "tagging";

/** That a field manager wrote on a node what a controller writes. */
export interface NodeWriter {
  readonly manager: string;
  readonly controller: CcmController;
  /** When this manager last changed anything of the kind, RFC 3339; whole seconds, as the API server has it. */
  readonly at: string;
}

/**
 * Who last wrote on a node what controllers of a cloud-controller-manager write, by its `managedFields`: addresses, provider ID and the
 * cloud's labels, the shutdown taint, the condition of routes. Kubelets write addresses too, so it takes the manager's name
 * to tell a controller. Of a node without `managedFields` nothing is known.
 */
export function writersOf(node: unknown): readonly NodeWriter[] {
  const managed = memberAt(node, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  const isShutDown = carriesShutdownTaint(node);
  return managed.flatMap((entry: unknown): NodeWriter[] => {
    const [manager, at] = [memberAt(entry, "manager"), memberAt(entry, "time")];
    if (typeof manager !== "string" || typeof at !== "string" || Number.isNaN(Date.parse(at))) return [];
    return controllersOf(entry, isShutDown).map((controller) => ({ manager, controller, at }));
  });
}

/** A member of nested objects, or undefined where there is none. */
export function memberAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return at;
}

const CLOUD_LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [`f:${beta}`, `f:${stable}`]);
/** The mark of the tagging controller of AWS. */
const TAGGING_LABEL = "f:k8s.io/cloud-provider-aws";
/** How `managedFields` spells the condition that says whether a node has its routes. */
const ROUTE_CONDITION = 'k:{"type":"NetworkUnavailable"}';

function controllersOf(entry: unknown, isShutDown: boolean): readonly CcmController[] {
  const fields = memberAt(entry, "fieldsV1");
  const labels = memberAt(fields, "f:metadata", "f:labels");
  const found: readonly (readonly [CcmController, boolean])[] = [
    [
      "cloud-node-controller",
      memberAt(fields, "f:status", "f:addresses") !== undefined ||
        memberAt(fields, "f:spec", "f:providerID") !== undefined ||
        CLOUD_LABELS.some((label) => memberAt(labels, label) !== undefined),
    ],
    // The list of taints is one field: who wrote it last put the shutdown taint there or left it.
    ["cloud-node-lifecycle-controller", isShutDown && memberAt(fields, "f:spec", "f:taints") !== undefined],
    ["node-route-controller", memberAt(fields, "f:status", "f:conditions", ROUTE_CONDITION) !== undefined],
    ["tagging", memberAt(labels, TAGGING_LABEL) !== undefined],
  ];
  return found.flatMap(([controller, isFound]) => (isFound ? [controller] : []));
}

function carriesShutdownTaint(node: unknown): boolean {
  const taints = memberAt(node, "spec", "taints");
  if (!Array.isArray(taints)) return false;
  return taints.some(
    (taint: unknown) =>
      memberAt(taint, "key") === SHUTDOWN_TAINT.key && memberAt(taint, "effect") === SHUTDOWN_TAINT.effect,
  );
}

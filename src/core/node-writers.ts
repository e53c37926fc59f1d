import { SHUTDOWN_TAINT } from "#core/contracts.ts";
import { OPERATED_CONTROLLERS } from "#core/controllers.ts";
import type { ControllerName } from "#core/event.ts";

/** A field manager that wrote a controller's fields on a node. */
export interface NodeWriter {
  readonly manager: string;
  readonly controller: ControllerName;
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

function listControllers(entry: unknown, isShutDown: boolean): readonly ControllerName[] {
  const fields = getMemberAt(entry, "fieldsV1");
  const has = (...path: readonly string[]): boolean => getMemberAt(fields, ...path) !== undefined;
  return OPERATED_CONTROLLERS.filter(
    ({ handover }) => handover?.isWriter?.({ has, isShutDown }) === true,
  ).map(({ name }) => name);
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

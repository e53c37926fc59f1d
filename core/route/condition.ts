import type { PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { add, type Edit, formatPointer, test } from "#core/json-patch.ts";
import { NODES } from "#core/resources/resource.ts";
import { NETWORK_UNAVAILABLE, type RouteNode } from "#core/route/related-node.ts";

/** The condition's fields, with the stock controller's sentences. */
const SAYS = {
  routed: { status: "False", reason: "RouteCreated", message: "RouteController created a route" },
  unrouted: {
    status: "True",
    reason: "NoRouteCreated",
    message: "RouteController failed to create a route",
  },
} as const;

/** Returns the patch that sets a node's condition about its routes; undefined if it is already correct. */
export function buildConditionPatch(node: RouteNode, isRouted: boolean, now: Date): PatchWrite | undefined {
  const says = isRouted ? SAYS.routed : SAYS.unrouted;
  const { condition } = node;
  if (condition?.status === says.status && condition.reason === says.reason) return undefined;
  const at = now.toISOString().replace(/\.\d+Z$/, "Z");
  const fields = { ...says, lastTransitionTime: at, lastHeartbeatTime: at };
  const metadata = { name: node.name, uid: node.uid };
  return patchObject(NODES, { metadata }, [buildEdit(node, fields)], "status");
}

const CONDITIONS = formatPointer("status", "conditions");

/**
 * An existing condition is changed field by field: `add` before an index would insert a second one, and
 * others' fields stay. A new one is appended after the last, which must still be the last, because
 * kube-apiserver counts a negative index from the end.
 */
function buildEdit({ condition, lastCondition }: RouteNode, fields: Readonly<Record<string, string>>): Edit {
  if (condition !== undefined) {
    const path = `${CONDITIONS}${formatPointer(condition.at)}`;
    return {
      tests: [test(`${path}/type`, NETWORK_UNAVAILABLE), test(`${path}/status`, condition.status ?? null)],
      operations: Object.entries(fields).map(([field, value]) => add(`${path}/${field}`, value)),
    };
  }
  const whole = { type: NETWORK_UNAVAILABLE, ...fields };
  if (typeof lastCondition !== "string") {
    const testedValue = lastCondition === null ? [] : null;
    return { tests: [test(CONDITIONS, testedValue)], operations: [add(CONDITIONS, [whole])] };
  }
  return {
    tests: [test(`${CONDITIONS}/-1/type`, lastCondition)],
    operations: [add(`${CONDITIONS}/-`, whole)],
  };
}

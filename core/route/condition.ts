import type { PatchWrite } from "#core/decision.ts";
import { patchObject } from "#core/decisions.ts";
import { add, type Edit, pointer, test } from "#core/json-patch.ts";
import { NODES } from "#core/resources/resource.ts";
import { NETWORK_UNAVAILABLE, type RouteNode } from "#core/route/related-node.ts";

/** What the condition says, in the stock controller's words. */
const SAYS = {
  routed: { status: "False", reason: "RouteCreated", message: "RouteController created a route" },
  unrouted: {
    status: "True",
    reason: "NoRouteCreated",
    message: "RouteController failed to create a route",
  },
} as const;

/** The patch that makes a node's condition say whether it has its routes; undefined where it does so already. */
export function conditionPatch(node: RouteNode, isRouted: boolean, now: Date): PatchWrite | undefined {
  const says = isRouted ? SAYS.routed : SAYS.unrouted;
  const { condition } = node;
  if (condition?.status === says.status && condition.reason === says.reason) return undefined;
  const at = now.toISOString().replace(/\.\d+Z$/, "Z");
  const fields = { ...says, lastTransitionTime: at, lastHeartbeatTime: at };
  const metadata = { name: node.name, uid: node.uid };
  return patchObject(NODES, { metadata }, [editOf(node, fields)], "status");
}

const CONDITIONS = pointer("status", "conditions");

/**
 * Field by field where the condition is there: `add` before an index would be a second one, and others' fields stay. Where it is not,
 * its place is behind the last one, which has to be the last still; kube-apiserver counts an index below zero from the end.
 */
function editOf({ condition, lastCondition }: RouteNode, fields: Readonly<Record<string, string>>): Edit {
  if (condition !== undefined) {
    const path = `${CONDITIONS}${pointer(condition.at)}`;
    return {
      tests: [test(`${path}/type`, NETWORK_UNAVAILABLE), test(`${path}/status`, condition.status ?? null)],
      operations: Object.entries(fields).map(([field, value]) => add(`${path}/${field}`, value)),
    };
  }
  const whole = { type: NETWORK_UNAVAILABLE, ...fields };
  if (typeof lastCondition !== "string") {
    const before = lastCondition === null ? [] : null;
    return { tests: [test(CONDITIONS, before)], operations: [add(CONDITIONS, [whole])] };
  }
  return {
    tests: [test(`${CONDITIONS}/-1/type`, lastCondition)],
    operations: [add(`${CONDITIONS}/-`, whole)],
  };
}

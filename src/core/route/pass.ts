import type { CloudAction, Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { RouteActionName } from "#core/route/state.ts";

/** The writes tried since the cloud was observed, by `formatWriteKey`. */
export interface Pass {
  readonly done: ReadonlySet<string>;
  readonly failed: ReadonlyMap<string, Reason>;
}

/** A pass without writes. */
export const NO_PASS: Pass = { done: new Set(), failed: new Map() };

/** Returns the key of a write, unique in a pass. */
export function formatWriteKey(write: Write): string {
  return write.on === "cloud" ? formatActionKey(write.action, write.target) : formatConditionKey(write.name);
}

/** Returns the key of an action from its name and target. */
export function formatActionKey(action: CloudAction["action"] | RouteActionName, target: string): string {
  return `${action} ${target}`;
}

/** Returns the key of the patch of a node's condition. */
export function formatConditionKey(node: string): string {
  return `condition ${node}`;
}

/** Returns whether the pass deleted a route. */
export function hasDeleted({ done }: Pass): boolean {
  const prefix = formatActionKey("delete", "");
  return [...done].some((key) => key.startsWith(prefix));
}

/** Returns the action target of a route. */
export function formatRouteTarget(table: string, cidr: string): string {
  return `${table} ${cidr}`;
}

/** Returns a description, for people, of the pass and of its next writes. */
export function describePass({ done }: Pass, writes: readonly Write[]): string {
  const keys = [...done, ...writes.map(formatWriteKey)].map(
    (key) => key.split(" ", 1)[0] as keyof typeof WORDS,
  );
  const counts = Map.groupBy(keys, (key) => key);
  return Object.entries(WORDS)
    .flatMap(([key, words]) => {
      const count = counts.get(key as keyof typeof WORDS)?.length ?? 0;
      return count === 0 ? [] : [`${count} ${words}`];
    })
    .join(", ");
}

const WORDS = {
  create: "routes created",
  replace: "routes replaced",
  delete: "routes deleted",
  forward: "machines made to forward",
  condition: "conditions written",
} as const;

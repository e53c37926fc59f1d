import type { Because, CloudAction, Write } from "#core/decision.ts";
import type { RouteActionName } from "#core/route/state.ts";

/** What was tried since the cloud was observed, by `keyOf`. */
export interface Pass {
  readonly done: ReadonlySet<string>;
  readonly failed: ReadonlyMap<string, Because>;
}

/** Nothing was tried. */
export const NO_PASS: Pass = { done: new Set(), failed: new Map() };

/** What tells the writes of a pass apart. */
export function keyOf(write: Write): string {
  return write.on === "cloud" ? actionKey(write.action, write.target) : conditionKey(write.name);
}

/** The key of an action, of which not more than name and target are known. */
export function actionKey(action: CloudAction["action"] | RouteActionName, target: string): string {
  return `${action} ${target}`;
}

/** The key of the patch of a node's condition. */
export function conditionKey(node: string): string {
  return `condition ${node}`;
}

/** Whether a route was deleted in the pass. */
export function hasDeleted({ done }: Pass): boolean {
  const prefix = actionKey("delete", "");
  return [...done].some((key) => key.startsWith(prefix));
}

/** A route, as the target of an action. */
export function routeTarget(table: string, cidr: string): string {
  return `${table} ${cidr}`;
}

/** What has been done in the pass, for people; with what is about to be. */
export function sentenceOf({ done }: Pass, writes: readonly Write[]): string {
  const keys = [...done, ...writes.map(keyOf)].map((key) => key.split(" ", 1)[0] as keyof typeof WORDS);
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

import type { LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import type { Stage } from "./stage.ts";

/** Something that may name what a stage has. */
export type Made<Value, World extends LoadBalancerWorld> = Value | ((stage: Stage<World>) => Value);

/** Keys of a cluster's `cloud:`. */
export type CloudKeys = Readonly<Record<string, unknown>>;

/** Something that is done to a Service or its nodes, and has to come to the same whatever happens on the way. */
export interface Operation<World extends LoadBalancerWorld = LoadBalancerWorld> {
  readonly name: string;
  readonly cloud?: Made<CloudKeys, World>;
  /** The Services before it; none where the operation is to make the one that all this is about. */
  readonly before?: Made<readonly object[], World>;
  /** The same while they are made; `cloud` without it. */
  readonly cloudBefore?: Made<CloudKeys, World>;
  /** Does it. */
  change(stage: Stage<World>): Promise<unknown>;
  /** Names of the Services that it is about, all of which an event is about, where they are more than the one. */
  readonly names?: readonly string[];
  /** What it comes to is there after audits only. */
  readonly needsAudits?: true;
  /** Which things are not to be in the cloud when it has come to its end, whether or not the Service is there. */
  readonly isLeftOver?: (thing: string) => boolean;
  /** What is done once the first process has ended, or was killed, and before the next one starts. */
  meanwhile?(stage: Stage<World>): Promise<unknown>;
}

/** What it is on a stage. */
export function madeOn<Value, World extends LoadBalancerWorld>(
  stage: Stage<World>,
  made: Made<Value, World>,
): Value {
  return typeof made === "function" ? (made as (stage: Stage<World>) => Value)(stage) : made;
}

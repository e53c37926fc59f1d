import type { LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import type { Stage } from "./stage.ts";

/** A value, or a function that builds it from a stage. */
export type Made<Value, World extends LoadBalancerWorld> = Value | ((stage: Stage<World>) => Value);

/** Keys in the `cloud:` section of a cluster. */
export type CloudKeys = Readonly<Record<string, unknown>>;

/** An operation on a Service or its nodes that must reach the same end state under every disturbance. */
export interface Operation<World extends LoadBalancerWorld = LoadBalancerWorld> {
  readonly name: string;
  readonly cloud?: Made<CloudKeys, World>;
  /** The Services that exist before the operation; empty if the operation creates the Service under test. */
  readonly before?: Made<readonly object[], World>;
  /** The `cloud:` keys while those Services are created; `cloud` by default. */
  readonly cloudBefore?: Made<CloudKeys, World>;
  /** Carries the operation out. */
  change(stage: Stage<World>): Promise<unknown>;
  /** The Services of the event, if there are several. */
  readonly names?: readonly string[];
  /** The result appears only after audits. */
  readonly needsAudits?: true;
  /** Whether a resource counts as a leftover at the end, with or without the Service. */
  readonly isLeftOver?: (thing: string) => boolean;
  /** Runs after the first process has ended or was killed, and before the next one starts. */
  meanwhile?(stage: Stage<World>): Promise<unknown>;
}

/** Returns the value for a stage. */
export function buildOnStage<Value, World extends LoadBalancerWorld>(
  stage: Stage<World>,
  made: Made<Value, World>,
): Value {
  return typeof made === "function" ? (made as (stage: Stage<World>) => Value)(stage) : made;
}

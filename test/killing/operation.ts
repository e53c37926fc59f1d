import type { Stage } from "./stage.ts";

/** A Service, which may name what a stage has. */
export type Made = object | ((stage: Stage) => object);

/** Something that is done to a Service or its nodes, and has to come to the same whatever happens on the way. */
export interface Operation {
  readonly name: string;
  /** Keys of the cluster's `cloud:`; the value `OPERATORS_GROUP` stands for the id of that group. */
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** The Service before it; none where the operation is to make it. */
  readonly before?: Made;
  /** The same while that is made; `cloud` without it. */
  readonly cloudBefore?: Readonly<Record<string, unknown>>;
  /** Does it. */
  change(stage: Stage): Promise<unknown>;
  /** What it comes to is there after audits only. */
  readonly needsAudits?: true;
  /** What is done once the first process has ended, or was killed, and before the next one starts. */
  meanwhile?(stage: Stage): Promise<unknown>;
}

/** Stands for the id of a security group that is an operator's, and not tagged as the cluster's. */
export const OPERATORS_GROUP = "the operator's group";

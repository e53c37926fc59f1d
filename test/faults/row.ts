import type { Bounds, Verdict } from "#test/faults/invariants.ts";
import type { Stage, StageOptions } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** One row of the table of faults: a small program on a stage, after which the common invariants hold. */
export interface Row {
  /** Short, for `--row` and for the table. */
  readonly name: string;
  /** Also run by `npm test`. */
  readonly isQuick?: true;
  readonly options?: StageOptions | ((world: World) => Promise<PreparedOptions>);
  readonly bounds?: Bounds;
  /**
   * Runs it; rejects if a special condition of the row fails. Resolves with its number of nodes, if that
   * differs from the stage's.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most rows resolve with nothing, as async functions do.
  play(stage: Stage): Promise<Pick<Verdict, "nodes" | "up"> | void>;
}

/** Options with a running part, such as a proxy. */
export interface PreparedOptions extends StageOptions {
  close(): Promise<void>;
}

/** The default number of nodes of a row. */
export const NODES = 300;

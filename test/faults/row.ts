import type { Bounds, Verdict } from "#test/faults/invariants.ts";
import type { Stage, StageOptions } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** One row of the table of faults: a small program on a stage, after which the same holds as after every other. */
export interface Row {
  /** Short, for `--row` and for the table. */
  readonly name: string;
  /** Also played by `npm test`. */
  readonly isQuick?: true;
  readonly options?: StageOptions | ((world: World) => Promise<PreparedOptions>);
  readonly bounds?: Bounds;
  /**
   * Plays it; rejects where something beyond what always holds is not as it must be. Resolves with the nodes that it had, where these
   * are not the stage's.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most rows resolve with nothing, as async functions do.
  play(stage: Stage): Promise<Pick<Verdict, "nodes" | "up"> | void>;
}

/** Options that stand for something running, such as a proxy. */
export interface PreparedOptions extends StageOptions {
  close(): Promise<void>;
}

/** How many nodes a row has unless it says otherwise. */
export const NODES = 300;

import { getErrorMessage } from "#core/sanitize-text.ts";
import { checkInvariants, type Verdict } from "#test/faults/invariants.ts";
import { createRandom } from "#test/faults/random.ts";
import type { PreparedOptions, Row } from "#test/faults/row.ts";
import { type StageOptions, setStage } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** The result of a row. */
export interface RowResult extends Verdict {
  readonly name: string;
  readonly seconds: number;
  readonly seed: number;
}

/** Runs a row on a shared world and leaves that as it was; never rejects. */
export async function playRow(row: Row, world: World, seed: number): Promise<RowResult> {
  const startedAt = performance.now();
  const issues: string[] = [];
  let verdict: Verdict = NOTHING_SEEN;
  let prepared: PreparedOptions | undefined;
  try {
    if (typeof row.options === "function") prepared = await row.options(world);
    const options: StageOptions | undefined = prepared ?? (row.options as StageOptions | undefined);
    const stage = await setStage(world, createRandom(seed), options);
    try {
      const own = await row.play(stage).catch((error: unknown) => void issues.push(getErrorMessage(error)));
      await stage.settle();
      verdict = { ...(await checkInvariants(stage, row.bounds ?? {})), ...own };
    } finally {
      await stage.close();
    }
  } catch (error) {
    issues.push(getErrorMessage(error));
  } finally {
    await prepared?.close();
    await world.clear().catch((error: unknown) => issues.push(getErrorMessage(error)));
  }
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  return { ...verdict, problems: [...issues, ...verdict.problems], name: row.name, seconds, seed };
}

const NOTHING_SEEN: Verdict = {
  nodes: 0,
  up: 0,
  naked: 0,
  wronglyDeleted: 0,
  lostForeignChanges: 0,
  problems: [],
};

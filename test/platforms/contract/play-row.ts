import { getErrorMessage } from "#core/sanitize-text.ts";
import { listDifferences, listNaked, listRewritten } from "#test/faults/invariants.ts";
import type { World } from "#test/faults/world.ts";
import type { PlatformUnderTest } from "#test/platforms/contract/platform.ts";
import { type Builds, type Stage, setStage } from "#test/platforms/contract/stage.ts";
import type { Row, RowName } from "#test/platforms/contract.ts";

/** The result of a row on a platform. */
export interface RowResult {
  readonly row: RowName;
  readonly platform: string;
  /** Why the platform cannot play the row; nothing ran then. */
  readonly skipped?: string;
  readonly nodes: number;
  readonly up: number;
  readonly naked: number;
  readonly invocations: number | undefined;
  readonly processes: number;
  readonly failures: readonly string[];
  readonly seconds: number;
  /** Every violation, in words; empty if the platform keeps the contract. */
  readonly problems: readonly string[];
}

/** Plays a row on a platform and leaves the world without nodes; never rejects. */
export async function playRow(
  row: Row & { readonly name: RowName },
  under: PlatformUnderTest,
  world: World,
  builds: Builds,
): Promise<RowResult> {
  const startedAt = performance.now();
  const skipped = under.skipped[row.name] ?? findMissingVersion(row, builds);
  const result = { ...NOTHING, row: row.name, platform: under.name };
  if (skipped !== undefined) return { ...result, skipped };
  const problems: string[] = [];
  let seen: Pick<RowResult, "nodes" | "up" | "naked" | "invocations" | "processes" | "failures"> = NOTHING;
  try {
    const stage = await setStage(world, builds, under, row.options?.(builds));
    try {
      await row.play(stage).catch((error: unknown) => void problems.push(getErrorMessage(error)));
      const verdict = await judge(stage);
      problems.push(...verdict.problems);
      seen = { ...verdict, ...stage.platform.counts(), failures: stage.failures() };
    } finally {
      await stage.close();
    }
  } catch (error) {
    problems.push(getErrorMessage(error));
  } finally {
    await world.clear().catch((error: unknown) => problems.push(getErrorMessage(error)));
  }
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  return { ...result, ...seen, seconds, problems };
}

const NOTHING = {
  ...{ nodes: 0, up: 0, naked: 0, invocations: 0, processes: 0, seconds: 0 },
  failures: [],
  problems: [],
};

function findMissingVersion(row: Row, builds: Builds): string | undefined {
  if (row.options === undefined || row.options(builds) !== undefined) return undefined;
  return "the version before is not built here";
}

/** Compares the nodes with their instances, and asks both witnesses. */
async function judge({
  world,
  history,
  expected,
  ec2,
  startedAt,
}: Stage): Promise<Pick<RowResult, "nodes" | "up" | "naked" | "problems">> {
  const nodes = new Map((await world.nodes()).map((node) => [node.metadata.name, node]));
  const down = [...expected].flatMap(([name, instance]) =>
    listDifferences(name, nodes.get(name), { instance }, ec2.region),
  );
  const naked = await listNaked(world, history, startedAt);
  return {
    nodes: expected.size,
    up: expected.size - new Set(down.map(({ name }) => name)).size,
    naked: naked.length,
    problems: [
      ...down.map(({ name, why }) => `${name} is not up: ${why}`),
      ...naked,
      ...listRewritten(history),
      ...(history.hole === undefined ? [] : [`versions may be missing: ${history.hole}`]),
    ],
  };
}

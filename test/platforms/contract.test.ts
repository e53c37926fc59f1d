import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getBuiltCommandLine, getBuiltFunctions } from "#test/build/shared-build.ts";
import { startWorld, type World } from "#test/faults/world.ts";
import { http } from "#test/platforms/contract/http.ts";
import { inProcess } from "#test/platforms/contract/in-process.ts";
import { lambda } from "#test/platforms/contract/lambda.ts";
import type { PlatformUnderTest, RunningPlatform } from "#test/platforms/contract/platform.ts";
import { playRow, type RowResult } from "#test/platforms/contract/play-row.ts";
import type { Builds } from "#test/platforms/contract/stage.ts";
import { ROWS, type RowName } from "#test/platforms/contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// A sample of `npm run test:platforms`, which plays every row on every platform.

const SAMPLE: readonly { readonly platform: PlatformUnderTest; readonly row: RowName }[] = [
  { platform: lambda, row: "killed between the two patches" },
  { platform: lambda, row: "scaled from zero" },
  { platform: lambda, row: "unauthorized" },
  { platform: http, row: "throttled" },
  { platform: http, row: "rolled over to the same version" },
  { platform: http, row: "an event of 6 MB" },
  { platform: http, row: "for another audience" },
  { platform: inProcess, row: "killed after the second patch" },
];

/** Longer than a row waits for its nodes. */
const TIMEOUT_MS = 360_000;

/** Platforms that do not keep the contract, the row that shows it, and how. */
const DEFECTS: readonly (readonly [
  given: string,
  row: RowName,
  change: (platform: RunningPlatform) => Partial<RunningPlatform>,
  issue: RegExp,
])[] = [
  [
    "a platform whose processes survive a kill",
    "killed after the second patch",
    ({ findProcess }) => ({ findProcess: (node) => findProcess(node) && { kill: () => undefined } }),
    /no invocation failed/,
  ],
  [
    "a platform that starts more processes than there are invocations",
    "scaled from zero",
    ({ counts }) => ({ counts: () => ({ ...counts(), processes: 10 * counts().processes }) }),
    /burst 1 started \d+ processes/,
  ],
];

describeWithPart("control-plane", "the contract of function platforms", (binaries) => {
  let world: World;
  let builds: Builds;
  beforeAll(async () => {
    world = await startWorld(binaries);
    const [folder, program] = [await getBuiltFunctions(), await getBuiltCommandLine()];
    builds = {
      today: { name: "N", folder, program: join(program, "serverless-ccm.mjs") },
      previous: undefined,
    };
  });
  afterAll(() => world?.close());

  const play = (name: RowName, platform: PlatformUnderTest): Promise<RowResult> => {
    const row = ROWS.find((each) => each.name === name);
    if (row === undefined) throw new Error(`there is no row "${name}"`);
    return playRow(row, platform, world, builds);
  };

  test.each(SAMPLE)(
    "$platform.name, $row: all nodes come up",
    async ({ platform, row }) => {
      const result = await play(row, platform);
      expect(result.problems).toEqual([]);
      expect(result).toMatchObject({ up: result.nodes, naked: 0 });
      expect(result.nodes).toBeGreaterThanOrEqual(300);
    },
    TIMEOUT_MS,
  );

  test.each(DEFECTS)(
    "finds %s",
    async (_, row, change, issue) => {
      const platform: PlatformUnderTest = {
        ...lambda,
        start: async (options) => {
          const running = await lambda.start(options);
          return { ...running, ...change(running) };
        },
      };
      const { problems } = await play(row, platform);
      expect(problems.join("\n")).toMatch(issue);
    },
    TIMEOUT_MS,
  );
});

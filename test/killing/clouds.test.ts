import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type EnumerateOptions, enumerate } from "./enumerate.ts";
import type { Operation } from "./operation.ts";
import { operationsOf } from "./operations.ts";
import { type InvokeOptions, onKubeApiserver, startStage } from "./stage.ts";
import type { RunningTable } from "./table.ts";
import { TABLES, tableNamed } from "./tables.ts";

// A part of `npm run test:killing -- --cloud …`: some of what can go wrong with a few operations on each cloud. AWS has a part of its own
// (killing.test.ts).

const EVERY = 4;
/** What they have is in the cluster, and takes so few changes that all are played. */
const FEW: ReadonlySet<string> = new Set(["keepalived", "kubevip"]);
const TIMEOUT_MS = 180_000;
const CLOUDS = Object.keys(TABLES).filter((cloud) => cloud !== "aws");

describe.each(CLOUDS)("%s: functions that are killed", (cloud) => {
  let table: RunningTable;
  beforeAll(async () => {
    table = await (await tableNamed(cloud)).start();
  }, TIMEOUT_MS);
  afterAll(() => table?.close());

  test.each(["create", "other ports", "type ClusterIP", "delete"])(
    "come to the same end when they are started again: %s",
    async (name) => {
      const result = await table.enumerate(name, {
        chosen: (_, index) => FEW.has(cloud) || index % EVERY === 0,
      });
      expect(result.problems).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(2);
    },
    TIMEOUT_MS,
  );
});

// What the function may write is held to by real API servers alone: by roles, and by the policies of infra/admission.
describeWithPart("control-plane", "functions that are killed", (binaries) => {
  test.each(CLOUDS)(
    "come to the same end on a real API server: %s",
    async (cloud) => {
      const { start, namesOnKubeApiserver } = await tableNamed(cloud);
      expect(namesOnKubeApiserver).toContain("create");
      const table = await start(onKubeApiserver(binaries));
      try {
        const result = await table.enumerate("create", { chosen: (_, index) => index % (2 * EVERY) === 0 });
        expect(result.problems).toEqual([]);
        expect(result.runs).toBeGreaterThan(1);
        expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      } finally {
        await table.close();
      }
    },
    TIMEOUT_MS,
  );
});

test("what was to go wrong and did not is a problem of its own, and no run that came to the same", async () => {
  const stage = await startStage(memoryWorld);
  try {
    const [create] = operationsOf({ hasSettings: false });
    let undisturbed: object | undefined;
    const untouchable: typeof stage = Object.create(stage, {
      invoke: {
        value: ({ lifeline, ...options }: InvokeOptions = {}) => {
          undisturbed ??= lifeline;
          const isOwn = lifeline === undefined || lifeline === undisturbed || options.reason !== undefined;
          return stage.invoke(isOwn ? { ...options, ...(lifeline && { lifeline }) } : options);
        },
      },
    });
    const chosen: EnumerateOptions["chosen"] = ({ kind }, index) => kind === "killed" && index < 3;
    const result = await enumerate(untouchable, create as Operation, { chosen });
    expect(result).toMatchObject({ runs: 0, same: 0 });
    expect(result.problems).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(/^killed when .*: it did not happen$/)),
    );
  } finally {
    await stage.close();
  }
});

test("a cloud without a table is told which there are", async () => {
  await expect(tableNamed("toString")).rejects.toThrow(/there is no table of "toString".*aws.*memory/);
});

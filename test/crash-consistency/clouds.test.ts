import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMemoryWorld } from "#test/clouds/memory/load-balancer-world.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type EnumerateOptions, playDisturbances } from "./enumerate.ts";
import type { Operation } from "./operation.ts";
import { listOperations } from "./operations.ts";
import { createKubeApiserverStage, type InvokeOptions, startStage } from "./stage.ts";
import type { RunningTable } from "./table.ts";
import { loadTable, TABLES } from "./tables.ts";

// A sample of `npm run test:crash-consistency -- --cloud …`: some disturbances of a few operations on each
// cloud. AWS has its own sample in crash-consistency.test.ts.

const EVERY = 4;
/** These clouds keep their state in the cluster and need so few changes that all disturbances run. */
const FEW: ReadonlySet<string> = new Set(["keepalived", "kubevip"]);
const TIMEOUT_MS = 180_000;
const CLOUDS = Object.keys(TABLES).filter((cloud) => cloud !== "aws");

describe.each(CLOUDS)("%s: killed functions", (cloud) => {
  let table: RunningTable;
  beforeAll(async () => {
    table = await (await loadTable(cloud)).start();
  }, TIMEOUT_MS);
  afterAll(() => table?.close());

  test.each(["create", "other ports", "type ClusterIP", "delete"])(
    "reach the same end state after a restart: %s",
    async (name) => {
      const result = await table.enumerate(name, {
        chosen: (_, index) => FEW.has(cloud) || index % EVERY === 0,
      });
      expect(result.issues).toEqual([]);
      expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      expect(result.runs).toBeGreaterThan(2);
    },
    TIMEOUT_MS,
  );
});

// Only real API servers enforce the permitted writes, by roles and by the policies of infra/admission.
describeWithPart("control-plane", "killed functions", (binaries) => {
  test.each(CLOUDS)(
    "reach the same end state on a real API server: %s",
    async (cloud) => {
      const { start, namesOnKubeApiserver } = await loadTable(cloud);
      expect(namesOnKubeApiserver).toContain("create");
      const table = await start(createKubeApiserverStage(binaries));
      try {
        const result = await table.enumerate("create", { chosen: (_, index) => index % (2 * EVERY) === 0 });
        expect(result.issues).toEqual([]);
        expect(result.runs).toBeGreaterThan(1);
        expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
      } finally {
        await table.close();
      }
    },
    TIMEOUT_MS,
  );
});

test("reports a disturbance that did not happen as a problem, not as a run with the same end state", async () => {
  const stage = await startStage(createMemoryWorld);
  try {
    const [create] = listOperations({ hasSettings: false });
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
    const result = await playDisturbances(untouchable, create as Operation, { chosen });
    expect(result).toMatchObject({ runs: 0, same: 0 });
    expect(result.issues).toEqual(
      [1, 2, 3].map(() => expect.stringMatching(/^killed when .*: it did not happen$/)),
    );
  } finally {
    await stage.close();
  }
});

test("lists the known tables for a cloud without a table", async () => {
  await expect(loadTable("toString")).rejects.toThrow(/there is no table of "toString".*aws.*memory/);
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEED } from "#test/seed.ts";
import { checkSeeds, describeFailure } from "./check-seeds.ts";
import { FOUND_ONCE } from "./found-once.ts";
import { createHistoryArbitrary, type Step } from "./history.ts";
import { PLANTED_DEFECTS, plantDefect } from "./planted-defects.ts";
import { runHistory } from "./run-history.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Histories of each scenario. */
const HISTORIES = 120;

/** Histories that miss a defect for longer than this are too tame. */
const HISTORIES_FOR_A_DEFECT = 300;

/** Every controller reacts to these steps with a change of its cloud. */
const ONE_SERVICE_AND_NODE: readonly Step[] = [
  { do: "add node", node: 0, isSuccessor: false, afterMs: 0 },
  { do: "create Service", service: 0, spec: { ports: [80], isMoved: false, ranges: [] }, afterMs: 0 },
];

const scenarioNamed = (name: string): Scenario => {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
  return scenario;
};

const seedsFor = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => SEED + index);

describe("random histories come to rest where a single fresh actor does", () => {
  it.each(Object.values(SCENARIOS))("$name", { timeout: 600_000 }, async (scenario) => {
    const failure = await checkSeeds(scenario, { seeds: seedsFor(HISTORIES) });
    expect(failure === undefined ? "no failure" : describeFailure(failure)).toBe("no failure");
  });
});

describe("a history", () => {
  it.each(Object.values(SCENARIOS))("of $name has the same result each time it runs", async (scenario) => {
    const [steps = []] = fc.sample(createHistoryArbitrary(scenario.weights), { seed: SEED, numRuns: 1 });
    const [first, second] = [await runHistory(scenario, steps), await runHistory(scenario, steps)];
    expect(second.log).toEqual(first.log);
    expect(first.log.length).toBeGreaterThan(steps.length);
  });

  // If a controller creates nothing, every history passes. This test excludes that.
  it.each(Object.values(SCENARIOS))(
    "of $name changes the cloud for a Service and a node",
    async (scenario) => {
      const { faults, cloudChanges } = await runHistory(scenario, ONE_SERVICE_AND_NODE);
      expect(faults).toEqual([]);
      expect(cloudChanges).toBeGreaterThan(0);
    },
  );
});

describe("a history that found a defect earlier passes", () => {
  it.each(FOUND_ONCE)("$title", async ({ scenario, steps }) => {
    const { faults } = await runHistory(scenarioNamed(scenario), steps);
    expect(faults).toEqual([]);
  });
});

describe("histories find a planted defect", () => {
  it.each(PLANTED_DEFECTS)("$title", { timeout: 600_000 }, async (defect) => {
    const scenario = plantDefect(scenarioNamed(defect.scenario), defect);
    const failure = await checkSeeds(scenario, { seeds: seedsFor(HISTORIES_FOR_A_DEFECT), shrinkMs: 0 });
    expect(failure?.outcome.faults.join("\n")).toMatch(defect.found);
  });
});

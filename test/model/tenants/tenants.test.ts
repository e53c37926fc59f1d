import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEED } from "#test/seed.ts";
import { checkTenants, describeTenantFailure, TENANT_STEPS } from "./check-tenants.ts";
import { createTenantHistoryArbitrary } from "./history.ts";
import { plantTenantDefect, TENANT_DEFECTS } from "./planted-tenant-defects.ts";
import { runTenants } from "./run-tenants.ts";
import { TENANT_SCENARIOS, type TenantScenario } from "./tenant-scenarios.ts";

/** Histories of each scenario. */
const HISTORIES = 2;

/** Histories that miss a defect for longer than this are too tame. */
const HISTORIES_FOR_A_DEFECT = 12;

const seedsFor = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => SEED + index);

const scenarioNamed = (name: string): TenantScenario => {
  const scenario = TENANT_SCENARIOS[name];
  if (scenario === undefined) throw new Error(`there is no scenario ${name} of two tenants`);
  return scenario;
};

describe("a hostile tenant reaches no resource of another tenant in the same account", () => {
  it.each(Object.values(TENANT_SCENARIOS))("$name", { timeout: 600_000 }, async (scenario) => {
    const failure = await checkTenants(scenario, seedsFor(HISTORIES));
    expect(failure === undefined ? "no failure" : describeTenantFailure(failure)).toBe("no failure");
  });
});

describe("a history of two tenants", () => {
  it.each(Object.values(TENANT_SCENARIOS))(
    "of $name has the same result each time, and both tenants change the cloud",
    { timeout: 600_000 },
    async (scenario) => {
      const [steps = []] = fc.sample(createTenantHistoryArbitrary(TENANT_STEPS), { seed: SEED, numRuns: 1 });
      const [first, second] = [await runTenants(scenario, steps), await runTenants(scenario, steps)];
      expect(second.log).toEqual(first.log);
      expect(steps).toHaveLength(TENANT_STEPS);
      expect(first.hostileChanges).toBeGreaterThan(0);
      expect(first.victimChanges).toBeGreaterThan(0);
    },
  );
});

describe("histories of two tenants find a planted defect", () => {
  it.each(TENANT_DEFECTS)("$scenario: $title", { timeout: 600_000 }, async (defect) => {
    const scenario = plantTenantDefect(scenarioNamed(defect.scenario), defect);
    const failure = await checkTenants(scenario, seedsFor(HISTORIES_FOR_A_DEFECT), { maxRuns: 0 });
    expect(failure?.outcome.faults.join("\n")).toMatch(defect.found);
  });
});

import { describe, expect, test } from "vitest";
import { Measured } from "#bench/cost/measured.ts";
import { Prices, Workload } from "#bench/cost/prices.ts";
import { listFaults } from "#core/config-errors.ts";
import { buildInvocation, buildMeasured, buildPrices, buildWorkload } from "#test/bench/cost/builders.ts";

const pathsOf = (result: {
  readonly error?: Parameters<typeof listFaults>[0] | undefined;
}): readonly string[] => (result.error === undefined ? [] : listFaults(result.error).map(({ path }) => path));

describe("a workload", () => {
  test.each([
    ["as given", {}, []],
    ["of no nodes at all", { nodesPerDay: 0, nodesPerCluster: 0 }, []],
    ["of a part of a node a day", { nodesPerDay: 0.5 }, []],
    ["of fewer than none", { nodesPerDay: -1 }, ["nodesPerDay"]],
    ["of no number", { nodesPerDay: Number.NaN }, ["nodesPerDay"]],
    ["without end", { nodesPerDay: Number.POSITIVE_INFINITY }, ["nodesPerDay"]],
    ["without clusters", { clusters: 0 }, ["clusters"]],
    ["with a part of a cluster", { clusters: 1.5 }, ["clusters"]],
    ["with batches of less than a node", { nodesPerInvocation: 0.5 }, ["nodesPerInvocation"]],
    ["with batches that no event carries", { nodesPerInvocation: 101 }, ["nodesPerInvocation"]],
    ["colder than cold", { coldShare: 1.1 }, ["coldShare"]],
    ["of many faults", { clusters: -1, coldShare: -1 }, ["clusters", "coldShare"]],
  ])("%s", (_given, difference, expected) => {
    expect(pathsOf(Workload.safeParse({ ...buildWorkload(), ...difference }))).toEqual(expected);
  });
});

describe("measurements", () => {
  const [one, hundred] = [buildInvocation(1, 1), buildInvocation(100, 1)];

  test.each([
    ["as given", {}, []],
    ["of sizes that do not begin with 1", { look: [buildInvocation(2, 1), hundred] }, ["function.look"]],
    ["of sizes that end before 100", { look: [one] }, ["function.look"]],
    ["of sizes that fall", { look: [one, hundred, buildInvocation(100, 2)] }, ["function.look"]],
    ["of no sizes", { initialize: [] }, ["function.initialize"]],
  ])("%s", (_given, difference, expected) => {
    expect(pathsOf(Measured.safeParse(buildMeasured(difference)))).toEqual(expected);
  });

  test("reject two relays with equal numbers of clusters, which define no line", () => {
    const measured = buildMeasured();
    const relay = { ...measured.relay, many: measured.relay.few };
    expect(pathsOf(Measured.safeParse({ ...measured, relay }))).toEqual(["relay.many.clusters"]);
  });
});

describe("prices", () => {
  test.each([
    ["as given", {}, []],
    ["without a part", { logs: undefined }, ["logs"]],
    [
      "of another unit",
      { logs: { gbIngested: { ...buildPrices().logs.gbIngested, per: "MB" } } },
      ["logs.gbIngested.per"],
    ],
    [
      "below nothing",
      { logs: { gbIngested: { ...buildPrices().logs.gbIngested, usd: -1 } } },
      ["logs.gbIngested.usd"],
    ],
    ["with an unknown key", { discount: 0.5 }, [""]],
  ])("%s", (_given, difference, expected) => {
    expect(pathsOf(Prices.safeParse({ ...buildPrices(), ...difference }))).toEqual(expected);
  });
});

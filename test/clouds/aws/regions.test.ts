import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { describeUnknownRegion, isRegionName, KNOWN_REGIONS } from "#clouds/aws/regions.ts";

describe("a region's name", () => {
  test.each([...KNOWN_REGIONS, "eu-central-9", "xx-northwest-1", "eusc-fr-south-2", "us-isox-central-1"])(
    "%s is possible",
    (name) => {
      expect(isRegionName(name)).toBe(true);
    },
  );

  test.each([
    ["eu-centrl-1", "eu-central-1"],
    ["us-est-1", "us-east-1"],
    ["eu-centrall-1", "eu-central-1"],
    ["us-east-1a", "us-east-1"],
    ["us-east1", "us-east-1"],
    ["EU-CENTRAL-1", "eu-central-1"],
    ["eu_central_1", "eu-central-1"],
    ["frankfurt", undefined],
    ["", undefined],
    ["1", undefined],
  ])("%j is impossible; the message suggests %s", (name, meant) => {
    expect(isRegionName(name)).toBe(false);
    expect(describeUnknownRegion(name)).toBe(meant === undefined ? "" : `; did you mean ${meant}?`);
  });
});

test("all regions of AWS's SDK are known", async () => {
  const path = "node_modules/@aws-sdk/core/dist-es/submodules/client/util-endpoints/lib/aws/partitions.js";
  const source = await readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
  const regions = [...source.matchAll(/"([a-z]+(?:-[a-z]+)+-\d+)": \{/g)].map(([, name]) => name);
  expect(regions.length).toBeGreaterThan(30);
  expect(regions.filter((name) => !KNOWN_REGIONS.includes(name ?? ""))).toEqual([]);
});

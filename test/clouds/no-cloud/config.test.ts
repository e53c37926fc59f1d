import { describe, expect, test } from "vitest";
import { NoCloudConfig } from "#clouds/no-cloud/config.ts";
import { noCloud } from "#clouds/no-cloud/provider.ts";

const parse = (traits: Record<string, unknown>) =>
  NoCloudConfig.safeParse({ provider: "no-cloud", ...traits });

describe("the configuration", () => {
  test.each<[string, Record<string, unknown>]>([
    ["nothing", {}],
    ["no rules", { rules: [] }],
    ["names", { rules: [{ names: ["*"] }] }],
    ["networks of both families", { rules: [{ networks: ["10.0.0.0/8", "FD00::/8"] }] }],
    [
      "a rule with all settings",
      {
        rules: [
          {
            names: ["rack-?.example.com"],
            networks: ["10.0.0.0/8"],
            region: "fra",
            zone: "cellar",
            instanceType: "r650",
            labels: { "example.com/rack": "1" },
          },
        ],
      },
    ],
  ])("accepts %s", (_, traits) => {
    expect(parse(traits).error).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["a rule without names and networks", { rules: [{ zone: "cellar" }] }, "names or networks is required"],
    ["a rule with an empty list of names", { rules: [{ names: [] }] }, "names"],
    ["a regular expression", { rules: [{ names: ["^rack-(1|2)+$"] }] }, "a name of nodes"],
    ["an address for a network", { rules: [{ networks: ["10.0.0.1"] }] }, "a network such as"],
    ["a network of the wrong length", { rules: [{ networks: ["10.0.0.0/33"] }] }, "a network such as"],
    [
      "a zone that cannot be a label value",
      { rules: [{ names: ["*"], zone: "the cellar" }] },
      "a zone that can be a label",
    ],
    ["an empty region", { rules: [{ names: ["*"], region: "" }] }, "a region that can be a label"],
    [
      "a label reserved for Kubernetes",
      { rules: [{ names: ["*"], labels: { "topology.kubernetes.io/zone": "a" } }] },
      "use region, zone and instanceType",
    ],
    ["an invalid label", { rules: [{ names: ["*"], labels: { "a b": "c" } }] }, "a label's key"],
    ["an invalid label value", { rules: [{ names: ["*"], labels: { a: "b c" } }] }, "a label's value"],
    ["a key that is unknown", { rules: [{ names: ["*"], type: "r650" }] }, "Unrecognized key"],
    ["too many rules", { rules: Array(201).fill({ names: ["*"] }) }, "200"],
  ])("rejects %s", (_, traits, message) => {
    expect(parse(traits).error?.message).toContain(message);
  });
});

test("snapshots of nodes keep the labels of all rules, and of the host name", () => {
  const rules = [
    { names: ["a"], labels: { "example.com/rack": "1", "example.com/row": "2" } },
    { names: ["b"], labels: { "example.com/rack": "2" } },
  ];
  expect(noCloud.listLabels?.({ provider: "no-cloud", rules })).toEqual([
    "example.com/rack",
    "example.com/row",
  ]);
  expect(noCloud.listNodeKeys?.({ provider: "no-cloud" })).toEqual(["kubernetes.io/hostname"]);
});

test.each<[string, { names?: string[]; networks?: string[] }[], number]>([
  ["no rule for all nodes", [{ names: ["a"] }, { names: ["b"] }], 0],
  ["a rule for all nodes at the end", [{ names: ["a"] }, { names: ["*"] }], 0],
  ["a rule for all nodes of a network", [{ names: ["*"], networks: ["10.0.0.0/8"] }, { names: ["b"] }], 0],
  ["a rule for all nodes before others", [{ names: ["*"] }, { names: ["b"] }], 1],
])("configuration warnings: %s", (_, rules, warnings) => {
  expect(noCloud.listConfigWarnings?.({ provider: "no-cloud", rules })).toHaveLength(warnings);
});

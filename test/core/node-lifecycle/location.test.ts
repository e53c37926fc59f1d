import { describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, REGION_LABELS } from "#core/contracts.ts";
import { InstanceAnswer } from "#core/instance.ts";
import { findDifference, type InstanceLocation, readLocation } from "#core/node-lifecycle/location.ts";
import { buildLifecycleNode } from "#test/core/node-lifecycle/builders.ts";

describe("the locations of a node and of a visibility probe", () => {
  test.each<[string, InstanceLocation, InstanceLocation, string | undefined]>([
    ["agree", { account: "1", network: "vpc-1" }, { account: "1", network: "vpc-1" }, undefined],
    ["differ in account", { account: "1", network: "vpc-1" }, { account: "2", network: "vpc-1" }, "account"],
    ["differ if the probe's account is unknown", { account: "1" }, {}, "account"],
    ["differ if the probe's account is empty", { account: "1" }, { account: "" }, "account"],
    ["agree if the node's account is unknown", {}, { account: "1", network: "vpc-1" }, undefined],
    ["differ in network", { account: "1", network: "vpc-1" }, { account: "1", network: "vpc-2" }, "network"],
    ["agree if the node's network is unknown", { network: "-" }, { network: "vpc-2" }, undefined],
    ["agree if the probe's network is unknown", { network: "vpc-1" }, {}, undefined],
    ["agree for one network in two locations", { network: "fsn1/4711" }, { network: "-/4711" }, undefined],
    ["differ for two networks in one location", { network: "fsn1/4711" }, { network: "-/42" }, "network"],
    ["agree if no network was configured", { network: "fsn1/-" }, { network: "-/42" }, undefined],
    [
      "agree for two Machines of one cluster",
      { network: "ns/blue/uid" },
      { network: "ns/blue/-" },
      undefined,
    ],
    ["differ if the networks have different forms", { network: "vpc-1" }, { network: "-/vpc-1" }, "network"],
    ["differ in region", { region: "eu-central-1" }, { region: "eu-west-1" }, "region"],
    ["agree if a region is unknown", { region: "eu-central-1" }, { region: "" }, undefined],
  ])("%s", (_, node, control, part) => {
    expect(findDifference(node, control)?.part).toBe(part);
  });

  test.each<[string, Record<string, string> | undefined, string | undefined]>([
    ["the stable label", { [REGION_LABELS.stable]: "a", [REGION_LABELS.beta]: "b" }, "a"],
    ["the beta label", { [REGION_LABELS.beta]: "b" }, "b"],
    ["no label", {}, undefined],
    ["an empty label", { [REGION_LABELS.stable]: "" }, undefined],
    ["no labels", undefined, undefined],
  ])("take the node's region from %s", (_, labels, region) => {
    const node = buildLifecycleNode(1, {
      ...(labels === undefined ? {} : { labels }),
      annotations: { [INSTANCE_ANNOTATION]: "acct/fsn1/4711/i-1" },
    });
    expect(readLocation(node)).toEqual({ account: "acct", network: "fsn1/4711", region });
  });
});

describe("a recorded answer", () => {
  const answer = { kind: "not-found", message: "none" };
  test("of an earlier version has a visibility probe in an unknown place", () => {
    expect(InstanceAnswer.parse({ ...answer, control: "i-1" })).toEqual({
      ...answer,
      control: { id: "i-1" },
    });
  });
  test("of this version is parsed as written", () => {
    const control = { id: "i-1", account: "1", network: "vpc-1", region: "eu-central-1" };
    expect(InstanceAnswer.parse({ ...answer, control })).toEqual({ ...answer, control });
  });
});

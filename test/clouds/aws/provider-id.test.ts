import { expect, test } from "vitest";
import { formatProviderID, isInstanceId, parseProviderID } from "#clouds/aws/provider-id.ts";

const ID = "i-0123456789abcdef0";

test.each([
  ["canonical", `aws:///eu-central-1a/${ID}`, { kind: "instance", id: ID }],
  ["without a zone", `aws:////${ID}`, { kind: "instance", id: ID }],
  ["a bare id", ID, { kind: "instance", id: ID }],
  ["a short id", "aws:///a/i-01234567", { kind: "instance", id: "i-01234567" }],
  ["more segments", `aws:///eu-central-1a/anything/${ID}`, { kind: "instance", id: ID }],
  ["the zone as authority", `aws://eu-central-1a/${ID}`, { kind: "instance", id: ID }],
  ["a path without scheme", `/eu-central-1a/${ID}`, { kind: "instance", id: ID }],
  ["a slash behind", `aws:///eu-central-1a/${ID}/`, { kind: "instance", id: ID }],
  ["an emulator's id", "aws:///a/i-mock-1", { kind: "instance", id: "i-mock-1" }],
  [
    "fargate by name",
    "aws:///eu-central-1a/x/fargate-ip-10-0-0-9.eu-central-1.compute.internal",
    { kind: "fargate", address: "10.0.0.9" },
  ],
  [
    "fargate by name without suffix",
    "aws:///a/x/fargate-ip-10-0-0-9",
    { kind: "fargate", address: "10.0.0.9" },
  ],
  ["fargate by address", "aws:///a/x/fargate-10.0.0.9", { kind: "fargate", address: "10.0.0.9" }],
])("%s is accepted", (_, text, expected) => {
  expect(parseProviderID(text)).toEqual(expected);
});

test.each([
  ["another cloud's", "gce://project/zone/i-1"],
  ["another cloud's, with an id that could be ours", `azure:///subscriptions/${ID}`],
  ["a hybrid node's", "eks-hybrid:///eu-central-1/demo/mi-0123456789abcdef0"],
  ["a scheme with our prefix", `awsx:///a/${ID}`],
])("%s is foreign, with a reason", (_, text) => {
  expect(parseProviderID(text)).toMatchObject({
    kind: "foreign",
    message: expect.stringContaining(`"${text}"`),
  });
});

test.each([
  ["a volume", "aws:///a/vol-0123456789abcdef0"],
  ["the id as authority", `aws://${ID}`],
  ["the scheme alone", "aws://"],
  ["nothing", ""],
  ["an id without digits", "aws:///a/i-"],
  ["a wildcard", "aws:///a/i-*"],
  ["a wildcard of one character", "aws:///a/i-0123456789abcdef?"],
  ["an escaped character", "aws:///a/i-01\\*"],
  ["a line break", `aws:///a/${ID}\n`],
  ["fargate without an address", "aws:///a/x/fargate-ip-10-0-0.internal"],
  ["fargate with a wildcard", "aws:///a/x/fargate-10.0.0.*"],
  ["an id too long", `aws:///a/i-${"0".repeat(65)}`],
])("%s is invalid, with a reason", (_, text) => {
  expect(parseProviderID(text)).toMatchObject({
    kind: "invalid",
    message: expect.stringContaining(`"${text}"`),
  });
});

test("a formatted provider ID parses to its parts", () => {
  expect(formatProviderID("eu-central-1a", ID)).toBe(`aws:///eu-central-1a/${ID}`);
  expect(parseProviderID(formatProviderID("eu-central-1a", ID))).toEqual({ kind: "instance", id: ID });
});

test("a name that begins like an ID is not an ID", () => {
  expect(["i-1", "ip-10-0-0-1", "I-1", "xi-1"].filter(isInstanceId)).toEqual(["i-1"]);
});

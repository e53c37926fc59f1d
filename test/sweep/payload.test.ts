import { describe, expect, test } from "vitest";
import { parseSweepPayload, SweepRejected } from "#sweep/payload.ts";

const NOW = Date.parse("2026-01-01T00:10:20Z");
const scheduled = (more: object = {}) => ({
  version: "0",
  id: "53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa",
  "detail-type": "Scheduled Event",
  source: "aws.events",
  account: "123456789012",
  time: "2026-01-01T00:10:00Z",
  region: "us-east-1",
  resources: ["arn:aws:events:us-east-1:123456789012:rule/sweep"],
  detail: {},
  ...more,
});
const shard = (clusters: unknown, at: unknown = NOW) => ({ shard: { clusters, at } });

describe("a sweep takes", () => {
  test.each([
    ["nothing", {}, { kind: "all", atMs: NOW }],
    ["the schedule's event, and its minute", scheduled(), { kind: "all", atMs: NOW - 20_000 }],
    [
      "one of another time, as of now",
      scheduled({ time: "2020-01-01T00:00:00Z" }),
      { kind: "all", atMs: NOW },
    ],
    ["one without a time that is any", scheduled({ time: 7 }), { kind: "all", atMs: NOW }],
    ["a shard", shard(["a", "b"]), { kind: "shard", shard: { clusters: ["a", "b"], at: NOW } }],
    ["one of ten minutes ago as late", shard(["a"], NOW - 600_000), { kind: "late", lateMs: 600_000 }],
    ["one of the future as late", shard(["a"], NOW + 600_000), { kind: "late", lateMs: 600_000 }],
  ])("%s", (_, payload, taken) => {
    expect(parseSweepPayload(payload, NOW)).toEqual(taken);
  });
});

describe("a sweep refuses, with words,", () => {
  test.each([
    ["null", null],
    ["a text", "sweep"],
    ["a list", []],
    ["another service's event", scheduled({ source: "aws.ec2" })],
    ["another kind of event", scheduled({ "detail-type": "EC2 Instance State-change Notification" })],
    ["an unknown key", { clusters: ["a"] }],
    ["a shard of no clusters", shard([])],
    ["a shard of 26", shard(Array.from({ length: 26 }, (_, index) => `c${index}`))],
    ["a shard that names a cluster twice", shard(["a", "a"])],
    ["a shard of what is no name", shard(["../etc/passwd"])],
    ["a shard of a value that is not a list", shard("a")],
    ["a shard without a time", { shard: { clusters: ["a"] } }],
    ["a shard of an invalid time", shard(["a"], "now")],
    ["a shard and more", { ...shard(["a"]), endpoint: "https://evil.example.com" }],
    ["an event of a function", { version: 1, controller: "cloud-node-controller", objects: [] }],
  ])("%s", (_, payload) => {
    const refused = () => parseSweepPayload(payload, NOW);
    expect(refused).toThrow(SweepRejected);
    expect(refused).toThrow(/the sweep takes .*nothing was done: /);
    expect(refused).not.toThrow(/evil|passwd/);
  });
});

import { describe, test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { playSharding } from "#test/sharding/play-sharding.ts";

const say = (): void => {};

describe("three replicas of six clusters, of which one is killed, one added and one ended,", () => {
  test("follow what is theirs, and each node comes up", async () => {
    await playSharding({ clusters: 6, everyMs: 200, say });
  }, 240_000);
});

describeWithPart("control-plane", "the same with Leases on a real API server,", (binaries) => {
  test("which is one of the clusters, too", async () => {
    await playSharding({ clusters: 6, real: { count: 1, binaries }, everyMs: 200, say });
  }, 240_000);
});

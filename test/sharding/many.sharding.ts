import { test } from "vitest";
import { describeWithPart } from "#test/setup/parts.ts";
import { playSharding } from "#test/sharding/play-sharding.ts";

const say = (line: string): void => void process.stdout.write(`  ${line}\n`);

describeWithPart("control-plane", "sixty clusters, two of them on real API servers,", (binaries) => {
  test("are shared by three replicas, of which one is killed, one added, one paused and one stopped", async () => {
    await playSharding({ clusters: 60, real: { count: 2, binaries }, everyMs: 100, halts: true, say });
  });
});

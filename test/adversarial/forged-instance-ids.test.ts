import { describe, expect, test } from "vitest";
import { createSharingLoader } from "#clouds/aws/shared-reads/sharing-loader.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import { buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { createRandom } from "#test/faults/random.ts";
import { createInProcessEc2, toCloudClocks } from "#test/fuzz/in-process-ec2.ts";
import { createVirtualClock } from "#test/model/virtual-clock.ts";
import { SEED } from "#test/seed.ts";

const HONEST = 100;
const FORGED = 100_000;

/** As many as one invocation has, and as many invocations as a relay has in flight for a cluster. */
const BATCH = 100;
const IN_FLIGHT = 4;

/** Clusters of one account that share reads; the machines 1 to 100 belong to the honest ones. */
function createFleet() {
  const clock = createVirtualClock(Date.now());
  const { next: random } = createRandom(SEED);
  const ec2 = createInProcessEc2(clock, () => 30 + 60 * random());
  const clocks = toCloudClocks(clock);
  const load = createSharingLoader({ ec2: ec2.ec2, ...clocks });
  const cloudOf = (clusterTag: string): Cloud =>
    load(buildConfig({ vpc: DEFAULT_VPC_ID, clusterTag }), { clusterName: clusterTag });
  const ids = Array.from({ length: HONEST }, (_, index) => {
    const tags = { [`kubernetes.io/cluster/honest-${index}`]: "owned", secret: "of a neighbour" };
    return ec2.inventory.add({ index: index + 1, tags }, 0, clock.wallTime().getTime()).id;
  });
  const ask = async (cloud: Cloud, names: readonly string[], share: number) => {
    const beganMs = clock.now();
    const nodes = names.map((id) => buildNode({ name: `node-${id}`, providerID: `aws:///z/${id}` }));
    const signal = new AbortController().signal;
    const { answers } = await cloud.instances(nodes, { signal, share });
    return { answers, durationMs: clock.now() - beganMs };
  };
  return { clock, random, ec2, cloudOf, ids, ask };
}

/** Lets each honest cluster look for its machine once in a minute, and returns how long that takes. */
async function measureHonest(isAttacked: boolean) {
  const { clock, random, ec2, cloudOf, ids, ask } = createFleet();
  const durations: number[] = [];
  const wrong: unknown[] = [];
  let forged = 0;
  for (const [index, id] of ids.entries()) {
    const cloud = cloudOf(`honest-${index}`);
    const look = async (): Promise<void> => {
      const { answers, durationMs } = await ask(cloud, [id], 0.05);
      if (answers.map(formatAnswer).join() !== id) wrong.push(answers);
      durations.push(durationMs);
    };
    clock.after(60_000 * random(), () => void look());
  }
  const hostile = cloudOf("hostile");
  const attack = async (): Promise<void> => {
    while (forged < FORGED) {
      const first = forged;
      forged += BATCH;
      const batch = Array.from({ length: BATCH }, (_, index) =>
        index < 10
          ? (ids[(first + index) % HONEST] ?? "")
          : `i-${(first + index).toString(16).padStart(17, "f")}`,
      );
      const { answers } = await ask(hostile, batch, 0.05);
      if (answers.some(({ kind }) => kind === "found")) wrong.push(answers);
    }
  };
  if (isAttacked) for (let flight = 0; flight < IN_FLIGHT; flight += 1) void attack();
  await clock.advance(62_000);
  durations.sort((a, b) => a - b);
  const throttled = ec2.calls().filter(({ code }) => code === "RequestLimitExceeded").length;
  return { durations, wrong, forged, throttled, calls: ec2.calls().length };
}

describe("a cluster that names 100,000 instances of others and instances that do not exist", () => {
  test("costs the others little time, and none of their answers", async () => {
    const quiet = await measureHonest(false);
    const attacked = await measureHonest(true);
    const describeRun = ({ durations, forged, calls }: typeof quiet) =>
      `median ${Math.round(durations[HONEST / 2] ?? 0)} ms, slowest ${Math.round(durations.at(-1) ?? 0)} ms, ${forged} forged, ${calls} calls`;
    console.log(`quiet: ${describeRun(quiet)}; attacked: ${describeRun(attacked)}`);
    expect(attacked.wrong).toEqual([]);
    expect(attacked.durations).toHaveLength(HONEST);
    expect(attacked.throttled).toBe(0);
    // A token at half of EC2's rate, and the calls in flight before it.
    expect((attacked.durations.at(-1) ?? 0) - (quiet.durations.at(-1) ?? 0)).toBeLessThan(500);
  });

  test("gets the words that it would get alone, at the same time for both kinds", async () => {
    const { clock, cloudOf, ids, ask } = createFleet();
    const hostile = cloudOf("hostile");
    const honest = cloudOf("honest-0");
    const [id = "", neighbour = ""] = ids;
    const missing = "i-0ffffffffffffffff";
    const all = Promise.all([
      ask(hostile, [id], 1),
      ask(hostile, [missing], 1),
      ask(honest, [id, neighbour], 1),
    ]);
    await clock.advance(10_000);
    const [foreign, absent, own] = await all;
    expect(own.answers.map(formatAnswer)).toEqual([id, "Foreign"]);
    expect(foreign.durationMs).toBe(absent.durationMs);
    expect(foreign.answers).toEqual([
      {
        kind: "error",
        code: "Foreign",
        message: expect.stringMatching(
          /^node node-\S+, looked for by instance id \S+: instance \S+ is not the cluster's: expected tag \S+, found kubernetes\.io\/cluster\/honest-0$/,
        ),
      },
    ]);
    expect(JSON.stringify([foreign.answers, absent.answers])).not.toContain("neighbour");
  });
});

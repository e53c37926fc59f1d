import { expect, test } from "vitest";
import { createKubeApiserverStage } from "#test/crash-consistency/stage.ts";
import { SEED } from "#test/seed.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { CLOUDS } from "./clouds.ts";
import { startTwoActors } from "./stage.ts";

// A sample of `npm run test:two-actors`: some runs on each cloud, the same each time.

const TIMEOUT_MS = 180_000;

/** This many runs of each cloud take a second or two. */
const RUNS = { memory: 25, digitalocean: 10, keepalived: 6, kubevip: 6, cattle: 5, oci: 2, "oci-nlb": 2 };

async function wrongEnds(
  cloud: string,
  runs: number,
  startPlane?: Parameters<typeof startTwoActors>[1],
): Promise<readonly object[]> {
  const build = await CLOUDS[cloud]?.();
  if (build === undefined) throw new Error(`there is no cloud "${cloud}"`);
  const played = await startTwoActors(build, startPlane);
  try {
    const wrong: object[] = [];
    for (let seed = SEED; seed < SEED + runs; seed += 1) {
      const { issues, history } = await played.play(seed);
      if (issues.length > 0) wrong.push({ seed, issues, history });
    }
    return wrong;
  } finally {
    await played.close();
  }
}

test.each(Object.entries(RUNS))(
  "two and three actors with late requests leave a Service in the state of its last spec: %s",
  async (cloud, runs) => {
    expect(await wrongEnds(cloud, runs)).toEqual([]);
  },
  TIMEOUT_MS,
);

describeWithPart("moto", "on AWS", () => {
  test.each([
    ["nlb", 2],
    ["classic", 2],
  ])(
    "two and three actors with late requests leave a Service in the state of its last spec: %s",
    async (cloud, runs) => {
      expect(await wrongEnds(cloud, runs)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describeWithPart("control-plane", "on a real API server", (binaries) => {
  test(
    "two and three actors with late requests leave a Service in the state of its last spec",
    async () => {
      expect(await wrongEnds("memory", 3, createKubeApiserverStage(binaries))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

import { expect, test } from "vitest";
import { WORLDS } from "#test/clouds/worlds.ts";
import { createKubeApiserverStage } from "#test/crash-consistency/stage.ts";
import { SEED } from "#test/seed.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { CLOUDS } from "./clouds.ts";
import { startTwoActors } from "./stage.ts";

// A sample of `npm run test:two-actors`: some runs on each cloud, the same each time.

const TIMEOUT_MS = 180_000;

/** This many runs of a world take a second or two; another one has the default. */
const RUNS: Readonly<Record<string, number>> = {
  ...{ memory: 25, digitalocean: 10, keepalived: 6, kubevip: 6, rancher: 5 },
};
const DEFAULT_RUNS = 2;
const NAMES = Object.keys(WORLDS);
const ON_MOTO = NAMES.filter((name) => WORLDS[name]?.provider === "aws");
const WITHOUT_PARTS = NAMES.filter((name) => !ON_MOTO.includes(name));

async function wrongEnds(
  cloud: string,
  runs = RUNS[cloud] ?? DEFAULT_RUNS,
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

test.each(WITHOUT_PARTS)(
  "two and three actors with late requests leave a Service in the state of its last spec: %s",
  async (cloud) => {
    expect(await wrongEnds(cloud)).toEqual([]);
  },
  TIMEOUT_MS,
);

describeWithPart("moto", "on AWS", () => {
  test.each(ON_MOTO)(
    "two and three actors with late requests leave a Service in the state of its last spec: %s",
    async (cloud) => {
      expect(await wrongEnds(cloud)).toEqual([]);
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

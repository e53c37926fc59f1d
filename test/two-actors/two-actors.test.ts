import { expect, test } from "vitest";
import { onKubeApiserver } from "#test/killing/stage.ts";
import { SEED } from "#test/seed.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { CLOUDS } from "./clouds.ts";
import { startTwoActors } from "./stage.ts";

// A part of `npm run test:two-actors`: some runs on each cloud, the same each time.

const TIMEOUT_MS = 180_000;

/** So many runs of each take a second or two. */
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
      const { problems, history } = await played.play(seed);
      if (problems.length > 0) wrong.push({ seed, problems, history });
    }
    return wrong;
  } finally {
    await played.close();
  }
}

test.each(Object.entries(RUNS))(
  "two and three actors whose requests are late leave a Service as its last spec says: %s",
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
    "two and three actors whose requests are late leave a Service as its last spec says: %s",
    async (cloud, runs) => {
      expect(await wrongEnds(cloud, runs)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describeWithPart("control-plane", "on a real API server", (binaries) => {
  test(
    "two and three actors whose requests are late leave a Service as its last spec says",
    async () => {
      expect(await wrongEnds("memory", 3, onKubeApiserver(binaries))).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

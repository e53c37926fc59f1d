import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { actOnEveryCluster, summarizeClusters } from "#cli/clusters/every-cluster.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";

let folder: string;
let clustersFile: string;
const NAMES = Array.from({ length: 20 }, (_, index) => `c-${index + 10}`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "every-cluster-"));
  clustersFile = join(folder, "clusters.yaml");
  const instancesFile = join(folder, "instances.json");
  await writeFile(instancesFile, JSON.stringify({ instances: [] }));
  const cloud = { provider: "memory", instancesFile };
  await writeClustersFile(
    clustersFile,
    ...NAMES.map((name) => ({ name, server: `https://${name}.invalid`, cloud })),
  );
});
afterAll(() => rm(folder, { recursive: true }));

const flags = () => ({ clustersFile, clusterName: "kubernetes", controllers: "*", given: new Set<string>() });

test("eight clusters are handled at a time, each once, and reported in the order of the registry", async () => {
  let [now, most] = [0, 0];
  const done: string[] = [];
  const outcomes = await actOnEveryCluster(
    undefined,
    flags(),
    async ({ cluster }) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      done.push(cluster.name);
      return "well";
    },
    { write: () => undefined, environment: {} },
  );
  expect(most).toBe(8);
  expect(done.toSorted()).toEqual(NAMES);
  expect(outcomes.map(({ cluster }) => cluster)).toEqual(NAMES);
});

test("no further cluster starts after a halt, and the summary names those left out", async () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const begun: string[] = [];
  const outcomes = await actOnEveryCluster(
    undefined,
    flags(),
    async ({ cluster }, tell, fleet) => {
      begun.push(cluster.name);
      tell("begins");
      await new Promise((resolve) => setImmediate(resolve));
      if (cluster.name !== "c-12") return "well";
      fleet.halt();
      throw new Error("a node was\nleft alone");
    },
    { write, environment: {} },
  );
  expect(begun.length).toBeLessThan(NAMES.length);
  expect(lines).toEqual(begun.map((name) => `${name}: begins`));
  expect(() => summarizeClusters(outcomes, write)).toThrow(
    `20 clusters: ${begun.length - 1} ok, 1 failed, ${20 - begun.length} not begun`,
  );
  expect(lines.find((line) => line.startsWith("c-12  "))).toMatch(
    /^c-12 {2}failed {5}a node was\\u\{000A\}left alone$/,
  );
  expect(lines.at(-1)).toMatch(/^c-29 {2}not begun {2}left as it is/);
});

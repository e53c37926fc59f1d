import { describe, expect, test } from "vitest";
import type { Parameter } from "#config/registry/ssm/parameter-store.ts";
import { followStops } from "#config/switch/follow-stops.ts";
import { createSsmSwitch } from "#config/switch/ssm.ts";
import { createStopReader } from "#config/switch/stop-reader.ts";
import type { Stop } from "#core/stop.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const PATH = "/serverless-ccm/clusters-stop/";

/** Creates a switch with parameters of these names. */
function switchOf(names: readonly string[]) {
  const parameters = names.map((name): Parameter => ({ name: PATH + name, value: "{}", type: "String" }));
  return createSsmSwitch(PATH, {
    store: async () => ({
      list: async () => ({ parameters, next: undefined }),
      getMany: async (wanted) => parameters.filter(({ name }) => wanted.includes(name)),
    }),
  });
}

/** Returns what a newly started relay knows, and what a function knows at its first read. */
async function known(names: readonly string[], cluster: string) {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log = (line: Readonly<Record<string, unknown>>): void => void lines.push(line);
  const ending = new AbortController();
  const stopSwitch = switchOf(names);
  const stops = followStops({ stopSwitch, signal: ending.signal, clock: createManualClock(), log });
  await stops.begun;
  ending.abort();
  const look = createStopReader({ stopSwitch, now: () => 0, log });
  return { relay: stops.get(cluster), fn: await look(cluster), lines };
}

describe("a parameter with an invalid stop name", () => {
  test.each<[string, readonly string[], Stop | undefined, Stop | undefined]>([
    ["beside a stop of all writes", ["writes", "write"], "writes", "writes"],
    ["of an unknown kind", ["write"], "writes", "writes"],
    ["of an unknown kind, for a cluster", ["write.blue"], "writes", "unproven"],
    ["of a known kind, for what is no cluster", ["deletes.Blue!"], "deletes", "deletes"],
    ["beside a stop of another cluster's", ["writes.green", "delete.blue"], "writes", "writes"],
    ["beside a stop of a cluster's", ["deletes.blue", "readme.green"], "deletes", "writes"],
  ])("stops the most that it may mean: %s", async (_, names, blue, green) => {
    expect(await known(names, "blue")).toMatchObject({ relay: blue, fn: blue });
    expect(await known(names, "green")).toMatchObject({ relay: green, fn: green });
  });

  test("is named in the log, with what it holds back and how to remove it", async () => {
    const { lines } = await known(["deletes", "write", "note.blue"], "blue");
    expect(lines).toContainEqual({
      level: "error",
      event: "StopSwitchUnreadable",
      home: `ssm:${PATH}`,
      code: "Malformed",
      message: `the stop switch ssm:${PATH} has parameters that name no stop: write (writes of all clusters are held back), note.blue (writes of cluster blue are held back); remove them with "aws ssm delete-parameter --name ${PATH}write", or rename them to writes, deletes, writes.CLUSTER or deletes.CLUSTER`,
    });
  });
});

test.each([true, false])(
  "a function that may read parameters by their names alone knows of a stop, whether it reads all (%s) or not",
  async (readsAll) => {
    const writes: Parameter = { name: `${PATH}writes.blue`, value: "{}", type: "String" };
    const stopSwitch = createSsmSwitch(PATH, {
      store: async () => ({
        list: async () => Promise.reject(Object.assign(new Error("no"), { name: "AccessDeniedException" })),
        getMany: async (wanted) => (wanted.includes(writes.name) ? [writes] : []),
      }),
    });
    const look = createStopReader({ stopSwitch, now: () => 0, log: () => {}, readsAll });
    expect([await look("green"), await look("blue")]).toEqual([undefined, "writes"]);
  },
);

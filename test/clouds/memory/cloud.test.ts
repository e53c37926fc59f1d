import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMemoryCloud, type MemoryInstance, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { loadCloud } from "#clouds/providers.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import {
  type CloudWorld,
  formatAnswer,
  testCloudConformance,
  type WorldInstance,
} from "#test/clouds/conformance.ts";

testCloudConformance("memory", async () => memoryWorld(), {
  cannotPlay: [{ row: "ill-formed", because: "any text after memory:// may be an instance's" }],
});

test("the documented example of an instances file answers for its node, and hides the hidden instance", async () => {
  const instancesFile = fileURLToPath(new URL("../../../docs/examples/instances.json", import.meta.url));
  const cloud = await loadCloud({ provider: "memory", instancesFile });
  const { answers } = await cloud.instances(
    ["node-1", "node-2"].map((name) => buildNode({ name })),
    buildCall(),
  );
  expect(answers).toMatchObject([
    { kind: "found", instance: { id: "i-1", providerID: "memory:///zone-a/i-1" } },
    { kind: "not-found" },
  ]);
  await cloud.close();
});

describe("the memory cloud's file", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "memory-cloud-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const load = (content: unknown) => {
    const instancesFile = join(folder, "instances.json");
    writeFileSync(instancesFile, JSON.stringify(content));
    return loadCloud({ provider: "memory", instancesFile });
  };

  test("determines the cloud's answers", async () => {
    const cloud = await load({ instances: [anInstance("i-1", { nodeName: "node-1" })] });
    expect(
      (await cloud.instances([buildNode({ name: "node-1" })], buildCall())).answers.map(formatAnswer),
    ).toEqual(["i-1"]);
  });

  test.each([
    ["an invalid state", { instances: [{ ...anInstance("i-1"), state: "asleep" }] }],
    ["a key that is unknown", { instances: [{ ...anInstance("i-1"), colour: "blue" }] }],
    ["another cloud's provider ID", { instances: [{ ...anInstance("i-1"), providerID: "aws:///a/i-1" }] }],
    ["no instances", {}],
  ])("with %s is rejected", async (_, content) => {
    await expect(load(content)).rejects.toThrow();
  });
});

test("an instance set to an error returns it, and its neighbours are unaffected", async () => {
  const world: MemoryInstances = {
    instances: new Map([
      ["i-1", anInstance("i-1", { error: "Unavailable" })],
      ["i-2", anInstance("i-2")],
    ]),
  };
  const nodes = [buildNode({ name: "i-1" }), buildNode({ name: "i-2" })];
  const { answers } = await createMemoryCloud(world).instances(nodes, buildCall());
  expect(answers.map(formatAnswer)).toEqual(["Unavailable", "i-2"]);
});

test("an answer takes the configured time", async () => {
  const waits: number[] = [];
  const cloud = createMemoryCloud(
    { instances: new Map(), latencyMs: 250 },
    { sleep: async (delayMs) => void waits.push(delayMs) },
  );
  await cloud.instances([buildNode()], buildCall());
  expect(waits).toEqual([250]);
});

function anInstance(id: string, traits: Partial<MemoryInstance> = {}): MemoryInstance {
  return {
    id,
    account: "account",
    network: "network",
    state: "running",
    providerID: `memory:///zone-a/${id}`,
    type: "large",
    zone: "zone-a",
    region: "region",
    addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
    labels: {},
    ...traits,
  };
}

function memoryWorld(): CloudWorld {
  const world: MemoryInstances = { instances: new Map() };
  let requests = 0;
  const cloud = createMemoryCloud(world);
  const change = async ({ id }: WorldInstance, traits: Partial<MemoryInstance>): Promise<void> => {
    const instance = world.instances.get(id) ?? anInstance(id);
    world.instances.set(id, { ...instance, ...traits });
  };
  const add = async (nodeName?: string): Promise<WorldInstance> => {
    const id = `i-${world.instances.size + 1}`;
    const instance = anInstance(id, { nodeName: nodeName ?? `node-of-${id}` });
    world.instances.set(id, instance);
    return { id, providerID: instance.providerID, nodeName: instance.nodeName ?? id };
  };
  return {
    cloud: {
      ...cloud,
      instances(nodes, call) {
        if (nodes.length > 0 && !call.signal.aborted) requests += 1;
        return cloud.instances(nodes, call);
      },
    },
    unknownProviderID: "memory:///zone-a/i-unknown",
    addInstance: () => add(),
    stop: (instance) => change(instance, { state: "stopped" }),
    terminate: (instance) => change(instance, { state: "terminated" }),
    async makeForeign(instance) {
      await change(instance, { foreign: true, network: "another-network" });
      return [instance.id, "another-network"];
    },
    async makeAmbiguous(instance) {
      const twin = await add(instance.nodeName);
      return [instance.id, twin.id];
    },
    async replace(instance) {
      await change(instance, { state: "terminated" });
      return (await add(instance.nodeName)).id;
    },
    hide: (instance) => change(instance, { hidden: true }),
    show: (instance) => change(instance, { hidden: false }),
    async breakApi(how) {
      world.outage = how === "stalled" ? undefined : how;
      world.latencyMs = how === "stalled" ? 60_000 : 0;
    },
    requests: () => requests,
    close: async () => cloud.close(),
  };
}

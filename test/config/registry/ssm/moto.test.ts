import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ParameterStore } from "#config/registry/ssm/parameter-store.ts";
import { createSsmRegistry } from "#config/registry/ssm/ssm-registry.ts";
import { createParameterStore } from "#platforms/aws/parameter-store.ts";
import { createParameterWriter } from "#platforms/aws/write-parameters.ts";
import { buildEntry, describeHome, type OwnedHome } from "#test/config/registry/contract.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "test",
  AWS_SECRET_ACCESS_KEY: "test",
  AWS_REGION: "eu-central-1",
} as const;

let moto: Moto;
let homes = 0;

/** Opens parameters under a separate path, with unrelated ones next to it. */
async function openParameters(): Promise<OwnedHome> {
  homes += 1;
  const path = `/serverless-ccm-${homes}/clusters/`;
  const [real, writer] = [createParameterStore(), createParameterWriter()];
  let isBroken = false;
  const store: ParameterStore = {
    ...real,
    list: (...args) => (isBroken ? Promise.reject(throttled()) : real.list(...args)),
  };
  await writer.put(`/serverless-ccm-${homes}/other`, "nothing of ours", true);
  await writer.put(`${path}deeper/inside`, "nothing of ours", true);
  return {
    // Each read of a test happens at a time of its own.
    home: createSsmRegistry(path, { store: async () => store, random: () => 0 }),
    write: (name, entry) => writer.put(`${path}${name}`, JSON.stringify(entry, undefined, 1), true),
    erase: (name) => writer.remove(`${path}${name}`),
    async break() {
      isBroken = true;
    },
    async mend() {
      isBroken = false;
    },
    close: async () => {},
  };
}

function throttled(): Error {
  return Object.assign(new Error("Rate exceeded"), { name: "ThrottlingException" });
}

describeWithPart("moto", "parameters of moto", (program) => {
  beforeAll(async () => {
    moto = await startMoto(program);
    Object.assign(process.env, ENVIRONMENT, { AWS_ENDPOINT_URL_SSM: moto.url });
  });
  afterAll(() => moto.close());

  describeHome("parameters of SSM", openParameters);

  test("of two parameters with one tag the one written last is held, whatever their names", async () => {
    const home = createSsmRegistry("/aged/clusters/");
    const cloud = { provider: "aws", region: "eu-central-1", clusterTag: "prod" } as const;
    const put = (name: string) =>
      createParameterWriter().put(
        `/aged/clusters/${name}`,
        JSON.stringify(buildEntry(name, { cloud })),
        true,
      );
    await put("b");
    // Times of the emulator are of seconds.
    await delay(1_050);
    await put("a");
    const { clusters, faulty } = await home.read();
    expect([clusters.map(({ name }) => name), faulty]).toMatchObject([
      ["b"],
      [{ name: "a", held: "SameOwnership" }],
    ]);
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { changeParameters } from "#config/switch/change-parameters.ts";
import { createSsmSwitch } from "#config/switch/ssm.ts";
import { stopIn } from "#config/switch/stops.ts";
import { createParameterStore } from "#platforms/aws/parameter-store.ts";
import { createParameterWriter } from "#platforms/aws/write-parameters.ts";
import { describeSwitch, type OwnedSwitch } from "#test/config/switch/contract.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

let moto: Moto;
let switches = 0;

async function ownParameters(): Promise<OwnedSwitch> {
  switches += 1;
  const path = `/serverless-ccm-${switches}/clusters-stop/`;
  const [real, writer] = [createParameterStore(), createParameterWriter()];
  let isBroken = false;
  const denied = () => Promise.reject(Object.assign(new Error("no"), { name: "AccessDeniedException" }));
  const store = {
    ...real,
    list: (...args: Parameters<typeof real.list>) => (isBroken ? denied() : real.list(...args)),
    getMany: (...args: Parameters<typeof real.getMany>) => (isBroken ? denied() : real.getMany(...args)),
  };
  await writer.put(`/serverless-ccm-${switches}/clusters/blue`, "a cluster's entry, and none of it", true);
  return {
    open: () =>
      createSsmSwitch(path, { store: async () => store, change: changeParameters(async () => writer) }),
    async break() {
      isBroken = true;
    },
    async mend() {
      isBroken = false;
    },
    spoil: () => writer.put(`${path}everything`, "stop", true),
    close: async () => {},
  };
}

describeWithPart("moto", "a switch of moto", (program) => {
  beforeAll(async () => {
    moto = await startMoto(program);
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_REGION: "eu-central-1",
      AWS_ENDPOINT_URL_SSM: moto.url,
    });
  });
  afterAll(() => moto.close());

  describeSwitch("parameters of SSM", ownParameters);

  test("of more than one page, a cluster's own stops are found by their names", async () => {
    const path = "/many/clusters-stop/";
    const writer = createParameterWriter();
    for (let number = 10; number < 31; number += 1) await writer.put(`${path}deletes.c${number}`, "{}", true);
    await writer.put(`${path}writes.z`, "{}", true);
    const signal = new AbortController().signal;
    const read = await createSsmSwitch(path).readFor?.("z", signal);
    expect([stopIn(read?.stopped ?? [], "z"), read?.isAll]).toEqual(["writes", false]);
    expect(
      stopIn((await createSsmSwitch(path).readFor?.("other", signal))?.stopped ?? [], "other"),
    ).toBeUndefined();
  });

  test.each(["", "stop!", "7", '{"version":9}'])(
    "a manually created parameter stops, whatever its value: %j",
    async (value) => {
      const path = `/by-hand-${switches}/`;
      await createParameterWriter().put(`${path}deletes`, value || " ", true);
      const signal = new AbortController().signal;
      expect(await createSsmSwitch(path).readFor?.("blue", signal)).toMatchObject({
        stopped: [{ what: "deletes" }],
      });
      expect(await createSsmSwitch(path).read(signal)).toMatchObject([{ what: "deletes" }]);
    },
  );
});

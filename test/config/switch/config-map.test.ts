import { afterAll, beforeAll, expect, test } from "vitest";
import { createConfigMapSwitch } from "#config/switch/config-map.ts";
import { readStops } from "#config/switch/follow-stops.ts";
import { stopIn } from "#config/switch/stops.ts";
import { type ManagementStage, startManagement } from "#test/config/registry/kubernetes/management-stage.ts";
import { describeRecord, describeSwitch, type OwnedSwitch } from "#test/config/switch/contract.ts";
import { describeWithPart } from "#test/setup/parts.ts";

let stage: ManagementStage;
let namespaces = 0;

async function ownConfigMap(): Promise<OwnedSwitch> {
  namespaces += 1;
  const namespace = `ops-${namespaces}`;
  const metadata = { name: namespace };
  await stage.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
  let isBroken = false;
  const write = async (text: string): Promise<void> => {
    const metadata = { name: "serverless-ccm-stop", namespace };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { stop: text } };
    await stage.ask("POST", `/api/v1/namespaces/${namespace}/configmaps`, body);
  };
  return {
    open: () =>
      createConfigMapSwitch({
        reference: "kubernetes:",
        namespace,
        async connect() {
          if (isBroken) throw new Error("connection refused");
          return { ...stage.admin, close: async () => {} };
        },
      }),
    async break() {
      isBroken = true;
    },
    async mend() {
      isBroken = false;
    },
    spoil: () => write("{}"),
    later: () => write('{"version":2}'),
    close: async () => {},
  };
}

describeWithPart("control-plane", "a switch of a management cluster", (binaries) => {
  beforeAll(async () => {
    stage = await startManagement(binaries);
  });
  afterAll(() => stage?.close());

  describeSwitch("a ConfigMap", ownConfigMap);
  describeRecord("a ConfigMap", ownConfigMap);

  test.each([
    ["alone", { writes: "true" }, "writes"],
    ["beside a stop", { stop: '{"version":1,"stopped":[{"what":"deletes"}]}', "stop.json": "{}" }, "deletes"],
  ])("an invalid key %s stops all writes, and is replaced on request", async (_, data, what) => {
    namespaces += 1;
    const namespace = `ops-${namespaces}`;
    const metadata = { name: "serverless-ccm-stop", namespace };
    const created = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    await stage.ask("POST", "/api/v1/namespaces", created);
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    await stage.ask("POST", `/api/v1/namespaces/${namespace}/configmaps`, body);
    const connect = async () => ({ ...stage.admin, close: async () => {} });
    const stray = createConfigMapSwitch({ reference: "kubernetes:", namespace, connect });
    const signal = new AbortController().signal;
    const read = await readStops(stray, [], signal);
    expect([stopIn(read.stopped, "blue"), read.unreadable?.code]).toEqual(["writes", "Malformed"]);
    expect(read.stopped.some((each) => each.what === what)).toBe(true);
    await expect(stray.change({ kind: "stop", entry: { what: "deletes" } }, signal)).rejects.toThrow(
      "has keys that name no stop",
    );
    await stray.change({ kind: "stop", entry: { what: "deletes" }, anew: true }, signal);
    expect(await stray.read(signal)).toEqual([{ what: "deletes" }]);
  });

  test("a missing namespace is reported", async () => {
    const connect = async () => ({ ...stage.admin, close: async () => {} });
    const nowhere = createConfigMapSwitch({ reference: "kubernetes:", namespace: "nowhere", connect });
    const signal = new AbortController().signal;
    expect(await nowhere.read(signal)).toEqual([]);
    await expect(nowhere.change({ kind: "stop", entry: { what: "deletes" } }, signal)).rejects.toThrow(
      "the stop switch kubernetes: was not changed: make the namespace nowhere",
    );
  });
});

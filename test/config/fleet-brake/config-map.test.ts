import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { createConfigMapRecord } from "#config/fleet-brake/config-map-record.ts";
import { impersonate } from "#kube/client/transport.ts";
import { describeRecord } from "#test/config/fleet-brake/record-contract.ts";
import { type ManagementStage, startManagement } from "#test/config/registry/kubernetes/management-stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const { signal } = new AbortController();
let stage: ManagementStage;
let records = 0;

describeWithPart("control-plane", "a record in a ConfigMap of a management cluster", (binaries) => {
  beforeAll(async () => {
    stage = await startManagement(binaries);
  });
  afterAll(() => stage?.close());

  const connect = async () => ({ ...stage.admin, close: async () => {} });

  describeRecord(async () => {
    records += 1;
    const configMap = `fleet-${records}`;
    return createConfigMapRecord({
      reference: `kubernetes:default/${configMap}`,
      namespace: "default",
      configMap,
      connect,
    });
  });

  test("with a missing namespace it is not a record, and is not created", async () => {
    const nowhere = {
      reference: "kubernetes:nowhere/fleet",
      namespace: "nowhere",
      configMap: "fleet",
      connect,
    };
    expect(await createConfigMapRecord(nowhere).read(signal)).toEqual({ kind: "absent" });
    expect(await createConfigMapRecord(nowhere).swap("{}", undefined, signal)).toBe(false);
  });

  test("of infra/fleet-brake is read and changed with the rights that come with it, and nothing else is", async () => {
    const namespace = "serverless-ccm";
    const text = await readFile(
      new URL("../../../infra/fleet-brake/config-map.yaml", import.meta.url),
      "utf8",
    );
    await stage.ask("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    for (const document of parseAllDocuments(text)) {
      const body = document.toJS() as { readonly kind: string };
      const group = body.kind === "ConfigMap" ? "/api/v1" : "/apis/rbac.authorization.k8s.io/v1";
      await stage.ask("POST", `${group}/namespaces/${namespace}/${body.kind.toLowerCase()}s`, body);
    }
    const as = (configMap: string) =>
      createConfigMapRecord({
        reference: `kubernetes:${namespace}/${configMap}`,
        namespace,
        configMap,
        connect: async () => ({
          ...impersonate(stage.admin, "system:serviceaccount:serverless-ccm:serverless-ccm-relay"),
          close: async () => {},
        }),
      });
    const store = as("serverless-ccm-fleet");
    // The API server's authorizer learns of new roles a moment later.
    const read = await vi.waitFor(() => store.read(signal), { timeout: 30_000, interval: 50 });
    if (read.kind === "absent") throw new Error("it was not made");
    expect(read.text).toBe("");
    expect(await store.swap("{}", read.version, signal)).toBe(true);
    await expect(as("another").read(signal)).rejects.toThrow("cannot be read (403");
    await expect(as("another").swap("{}", undefined, signal)).rejects.toThrow(
      "see the Role of infra/fleet-brake",
    );
  });
});

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { TAGS_LABEL } from "#core/contracts.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const manifest = (path: string): string => fileURLToPath(new URL(`../../infra/${path}`, import.meta.url));

const LABEL = `/metadata/labels/${TAGS_LABEL.replaceAll("/", "~1")}`;
const add = (path: string, value: unknown): unknown => ({ op: "add", path, value });
const remove = (path: string): unknown => ({ op: "remove", path });

describeWithPart("control-plane", "infra/admission/tagging.yaml: the identity that tags", (binaries) => {
  let cluster: ClusterUnderTest;
  let api: Transport;
  let count = 0;

  beforeAll(async () => {
    let plane: KubeApiserver | undefined;
    cluster = await startCluster(async (folder) => {
      plane = await startKubeApiserver({ folder, binaries });
      return plane;
    });
    api = await cluster.transport("tagging");
    await plane?.apply(manifest("rbac/tagging"));
    await plane?.apply(manifest("admission/tagging.yaml"));
    await vi.waitFor(async () => expect((await write([add("/spec/unschedulable", true)])).status).toBe(422), {
      timeout: 30_000,
    });
  });
  afterAll(() => cluster?.close());

  it("writes its only label repeatedly", async () => {
    const name = await join();
    for (const value of ["a", "b"]) expect((await patch(name, [add(LABEL, value)])).status).toBe(200);
  });

  it.each<{ what: string; operations: readonly unknown[]; says: string }>([
    { what: "another label", operations: [add("/metadata/labels/a", "b")], says: "no label but" },
    {
      what: "another label beside its own",
      operations: [add(LABEL, "a"), add("/metadata/labels/kubernetes.io~1os", "plan9")],
      says: "no label but",
    },
    {
      what: "a label away",
      operations: [remove("/metadata/labels/kubernetes.io~1os")],
      says: "no label but",
    },
    { what: "an annotation", operations: [add("/metadata/annotations/a", "b")], says: "neither annotations" },
    {
      what: "a finalizer",
      operations: [add("/metadata/finalizers", ["example.com/hold"])],
      says: "neither annotations nor finalizers",
    },
    { what: "a cordon", operations: [add("/spec/unschedulable", true)], says: "nothing of the spec" },
    {
      what: "a taint",
      operations: [add("/spec/taints", [{ key: "a", effect: "NoSchedule" }])],
      says: "nothing of the spec",
    },
  ])("never writes $what", async ({ operations, says }) => {
    const { status, body } = await write(operations);
    expect([status, JSON.parse(body).message]).toEqual([422, expect.stringContaining(says)]);
  });

  it("neither writes the status nor deletes, and reads no node or other namespace", async () => {
    const name = await join();
    const send = async (method: "GET" | "PATCH" | "DELETE", path: string) => {
      const body = method === "PATCH" ? { body: [add("/status/phase", "x")], contentType: JSON_PATCH } : {};
      return (await api.send({ method, path, ...body })).status;
    };
    expect(await send("PATCH", `/api/v1/nodes/${name}/status`)).toBe(403);
    expect(await send("DELETE", `/api/v1/nodes/${name}`)).toBe(403);
    expect(await send("GET", `/api/v1/nodes/${name}`)).toBe(403);
    expect(await send("GET", "/api/v1/namespaces/default")).toBe(403);
    expect(await send("GET", "/api/v1/namespaces/kube-system")).toBe(200);
  });

  async function join(): Promise<string> {
    count += 1;
    await cluster.join({ name: `node-${count}` });
    return `node-${count}`;
  }

  async function write(operations: readonly unknown[]): Promise<ApiResponse> {
    return patch(await join(), operations);
  }

  function patch(name: string, body: readonly unknown[]): Promise<ApiResponse> {
    return api.send({ method: "PATCH", path: `/api/v1/nodes/${name}`, body, contentType: JSON_PATCH });
  }
});

const JSON_PATCH = "application/json-patch+json";

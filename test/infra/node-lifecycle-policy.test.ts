import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SHUTDOWN_TAINT } from "#core/contracts.ts";
import type { ApiResponse } from "#kube/client/transport.ts";
import { add, getRefusal, type PolicyUnderTest, remove, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const USER = "node-lifecycle";
const FOREIGN = { key: "example.com/other", effect: "NoSchedule" };

/** Writes on a node with FOREIGN taints, the shutdown taint, and those of kubelet and API server. */
const ALLOWED = [
  { what: "takes the shutdown taint off", patch: [remove("/spec/taints/1")] },
  {
    what: "puts it on, and leaves the others",
    patch: [remove("/spec/taints/1"), add("/spec/taints/-", SHUTDOWN_TAINT)],
  },
];

const REFUSED = [
  { what: "removes another taint", patch: [remove("/spec/taints/0")], says: "removes no taint" },
  { what: "removes all taints", patch: [remove("/spec/taints")], says: "removes no taint" },
  {
    what: "adds another taint",
    patch: [add("/spec/taints/-", { key: "example.com/mine", effect: "NoSchedule" })],
    says: "adds and changes no taint",
  },
  {
    what: "adds the shutdown taint with an effect that evicts",
    patch: [add("/spec/taints/-", { ...SHUTDOWN_TAINT, effect: "NoExecute" })],
    says: "adds and changes no taint",
  },
  {
    what: "removes the uninitialized taint",
    patch: [remove("/spec/taints/2")],
    says: "removes no taint",
  },
  { what: "cordons", patch: [add("/spec/unschedulable", true)], says: "nothing of the spec" },
  {
    what: "sets a provider ID",
    patch: [add("/spec/providerID", "aws:///a/i-1")],
    says: "nothing of the spec",
  },
  { what: "sets a pod CIDR", patch: [add("/spec/podCIDR", "10.1.0.0/24")], says: "nothing of the spec" },
  {
    what: "puts its taint on and takes another's off",
    patch: [remove("/spec/taints/0"), add("/spec/taints/0", { ...SHUTDOWN_TAINT, effect: "NoExecute" })],
    says: "adds and changes no taint",
  },
  { what: "labels", patch: [add("/metadata/labels/a", "b")], says: "no labels" },
  { what: "removes a label", patch: [remove("/metadata/labels/kubernetes.io~1os")], says: "no labels" },
  { what: "annotates", patch: [add("/metadata/annotations/a", "b")], says: "no labels, annotations" },
  {
    what: "holds with a finalizer",
    patch: [add("/metadata/finalizers", ["example.com/hold"])],
    says: "finalizers",
  },
  {
    what: "writes addresses",
    patch: [add("/status/addresses", [{ type: "InternalIP", address: "10.0.0.4" }])],
    on: "/status",
    says: "nor writes their status",
  },
];

const CONFIG_MAP = fileURLToPath(new URL("../../infra/state/config-map.yaml", import.meta.url));
const CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps";
const JSON_PATCH = "application/json-patch+json";

/** Writes on the deletion state's ConfigMap, as the manifest creates it. */
const STATE_WRITES: readonly {
  readonly what: string;
  readonly patch: readonly unknown[];
  readonly code: number;
  readonly says?: string;
  readonly by?: string;
}[] = [
  { what: "writes the state", patch: [add("/data", { state: "{}" })], code: 200 },
  {
    what: "writes as large a state as is read",
    patch: [add("/data", { state: "x".repeat(700_000) })],
    code: 200,
  },
  {
    what: "writes a larger one",
    patch: [add("/data", { state: "x".repeat(700_001) })],
    code: 422,
    says: "at most 700,000 characters",
  },
  {
    what: "writes another key",
    patch: [add("/data", { other: "{}" })],
    code: 422,
    says: "but data.state: data.other",
  },
  {
    what: "writes binary data",
    patch: [add("/binaryData", { state: "e30=" })],
    code: 422,
    says: "binaryData",
  },
  {
    what: "makes it immutable",
    patch: [add("/immutable", true)],
    code: 422,
    says: "but data.state: immutable",
  },
  { what: "labels it", patch: [add("/metadata/labels/a", "b")], code: 422, says: "but data.state: labels" },
  {
    what: "holds it by a finalizer",
    patch: [add("/metadata/finalizers", ["example.com/hold"])],
    code: 422,
    says: "but data.state: finalizers",
  },
  {
    what: "writes another client's",
    patch: [add("/data", { state: "{}" })],
    by: "other",
    code: 422,
    says: "no ConfigMap but kube-system/serverless-ccm",
  },
];

describeWithPart(
  "control-plane",
  "infra/admission/node-lifecycle.yaml: the identity that deletes",
  (binaries) => {
    let under: PolicyUnderTest;
    let count = 0;

    beforeAll(async () => {
      under = await startPolicy(
        binaries,
        ["node-lifecycle.yaml"],
        async (starting) => {
          const { name } = await join(starting);
          return starting.patchNode(USER, name, [add("/spec/unschedulable", true)]);
        },
        { manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))] },
      );
    });
    beforeAll(async () => {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other" } };
      expect((await under.send("admin", { method: "POST", path: CONFIG_MAPS, body })).status).toBe(201);
    });
    afterAll(() => under?.close());

    it.each(ALLOWED)("$what", async ({ patch }) => {
      const { name } = await join(under);
      expect(getRefusal(await under.patchNode(USER, name, patch))).toEqual([200, ""]);
    });

    it.each(REFUSED)("never $what", async ({ patch, says, on = "" }) => {
      const { name } = await join(under);
      expect(getRefusal(await under.patchNode(USER, name + on, patch))).toEqual([
        422,
        expect.stringContaining(says),
      ]);
    });

    it.each([
      { ready: "False", byUid: true, code: 200, says: "" },
      { ready: "Unknown", byUid: true, code: 200, says: "" },
      { ready: undefined, byUid: true, code: 200, says: "" },
      { ready: "True", byUid: true, code: 422, says: "deletes no node that is Ready" },
      { ready: "False", byUid: false, code: 422, says: "deletes a node by its uid" },
    ])(
      "deletes a node whose Ready is $ready, by its uid: $byUid: $code",
      async ({ ready, byUid, code, says }) => {
        const { name, uid } = await join(under, ready);
        const answer = await deleteNode(name, byUid ? uid : undefined);
        expect(getRefusal(answer)).toEqual([code, expect.stringContaining(says)]);
        const { status } = await under.send("admin", { method: "GET", path: `/api/v1/nodes/${name}` });
        expect(status).toBe(code === 200 ? 404 : 200);
      },
    );

    it.each([
      { ready: "True", byUid: true, says: "deletes no node that is Ready" },
      { ready: "False", byUid: false, says: "deletes a node by its uid" },
    ])(
      "deletes no collection with a Ready node ($ready), and none without uids",
      async ({ ready, byUid, says }) => {
        const { name, uid } = await join(under, ready);
        const preconditions = byUid ? { preconditions: { uid } } : {};
        const answer = await under.send(USER, {
          method: "DELETE",
          path: `/api/v1/nodes?fieldSelector=metadata.name%3D${name}`,
          body: { apiVersion: "v1", kind: "DeleteOptions", ...preconditions },
        });
        expect(getRefusal(answer)).toEqual([422, expect.stringContaining(says)]);
        const { status } = await under.send("admin", { method: "GET", path: `/api/v1/nodes/${name}` });
        expect(status).toBe(200);
      },
    );

    it.each(STATE_WRITES)(
      "for the ConfigMap $what: $code",
      async ({ patch: body, code, says, by = "serverless-ccm" }) => {
        await under.plane.apply(CONFIG_MAP);
        const path = `${CONFIG_MAPS}/${by}`;
        const answer = await under.send(USER, { method: "PATCH", path, body, contentType: JSON_PATCH });
        expect(getRefusal(answer)).toEqual([code, says === undefined ? "" : expect.stringContaining(says)]);
      },
    );

    it("neither creates nor deletes a ConfigMap", async () => {
      const says = [422, expect.stringContaining("neither creates nor deletes it")];
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "forged" } };
      expect(getRefusal(await under.send(USER, { method: "POST", path: CONFIG_MAPS, body }))).toEqual(says);
      await under.plane.apply(CONFIG_MAP);
      const path = `${CONFIG_MAPS}/serverless-ccm`;
      expect(getRefusal(await under.send(USER, { method: "DELETE", path }))).toEqual(says);
    });

    it("never creates a node", async () => {
      const body = { apiVersion: "v1", kind: "Node", metadata: { name: "forged" } };
      expect(getRefusal(await under.send(USER, { method: "POST", path: "/api/v1/nodes", body }))).toEqual([
        422,
        expect.stringContaining("neither creates nodes"),
      ]);
    });

    it("applies to no other identity", async () => {
      const { name } = await join(under);
      expect(getRefusal(await under.patchNode("admin", name, [add("/spec/unschedulable", true)]))).toEqual([
        200,
        "",
      ]);
    });

    function deleteNode(name: string, uid: string | undefined): Promise<ApiResponse> {
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      };
      return under.send(USER, { method: "DELETE", path: `/api/v1/nodes/${name}`, body });
    }

    async function join(of: PolicyUnderTest, ready?: string): Promise<{ name: string; uid: string }> {
      count += 1;
      const name = `node-${count}`;
      const { metadata } = await of.cluster.join({ name, taints: [FOREIGN, SHUTDOWN_TAINT] });
      const conditions = ready === undefined ? [] : [{ type: "Ready", status: ready }];
      await of.cluster.patch(`${name}/status`, [add("/status/conditions", conditions)]);
      return { name, uid: metadata.uid };
    }
  },
);

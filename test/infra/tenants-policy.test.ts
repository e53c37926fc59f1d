import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiRequest } from "#kube/client/transport.ts";
import { add, getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const JSON_PATCH = "application/json-patch+json";

const GARBAGE_COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector";
/**
 * A tenant as cluster-admin, one in system:masters, an operator, and the garbage and namespace controllers.
 */
const USERS = [
  { name: "tenant", groups: ["tenant"] },
  { name: "operator", groups: ["serverless-ccm-operators"] },
  { name: GARBAGE_COLLECTOR, groups: ["tenant"] },
];

type Who = "tenant" | "admin" | "operator" | "node-lifecycle" | "relay" | "node" | typeof GARBAGE_COLLECTOR;
const PATCH = { method: "PATCH", contentType: JSON_PATCH, body: [add("/metadata/labels/a", "b")] } as const;

const ROWS: readonly { who: Who; what: string; request: ApiRequest; may: boolean }[] = [
  ...(["tenant", "admin", "relay", "node"] as const).map((who) => ({
    who,
    what: "edit the ConfigMap",
    request: { ...PATCH, path: `${CONFIG_MAPS}/serverless-ccm` },
    may: false,
  })),
  ...(["operator", "node-lifecycle", GARBAGE_COLLECTOR] as const).map((who) => ({
    who,
    what: "edit the ConfigMap",
    request: { ...PATCH, path: `${CONFIG_MAPS}/serverless-ccm` },
    may: true,
  })),
  ...(["tenant", "admin", "node-lifecycle"] as const).map((who) => ({
    who,
    what: "edit the Lease",
    request: { ...PATCH, path: `${LEASES}/serverless-ccm-relay` },
    may: false,
  })),
  ...(["operator", "relay", GARBAGE_COLLECTOR] as const).map((who) => ({
    who,
    what: "edit the Lease",
    request: { ...PATCH, path: `${LEASES}/serverless-ccm-relay` },
    may: true,
  })),
  {
    who: "tenant",
    what: "delete the ConfigMap",
    request: { method: "DELETE", path: `${CONFIG_MAPS}/serverless-ccm` },
    may: false,
  },
  {
    who: "tenant",
    what: "delete the Lease",
    request: { method: "DELETE", path: `${LEASES}/serverless-ccm-relay` },
    may: false,
  },
  {
    who: "tenant",
    what: "edit another ConfigMap",
    request: { ...PATCH, path: `${CONFIG_MAPS}/theirs` },
    may: true,
  },
  {
    who: "tenant",
    what: "edit one of that name elsewhere",
    request: { ...PATCH, path: "/api/v1/namespaces/default/configmaps/serverless-ccm" },
    may: true,
  },
  // Last, because it deletes the object of the other rows.
  {
    who: "tenant",
    what: "delete every ConfigMap",
    request: { method: "DELETE", path: CONFIG_MAPS },
    may: false,
  },
];

describeWithPart("control-plane", "infra/admission/tenants/state.yaml", (binaries) => {
  let under: PolicyUnderTest;

  beforeAll(async () => {
    under = await startPolicy(
      binaries,
      ["tenants/state.yaml"],
      (starting) => starting.send("admin", { ...PATCH, path: `${CONFIG_MAPS}/serverless-ccm` }),
      { users: USERS, manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))] },
    );
    for (const [namespace, name] of [
      ["kube-system", "theirs"],
      ["default", "serverless-ccm"],
    ]) {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { b: "c" } } };
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      expect((await under.send("admin", { method: "POST", path, body })).status).toBe(201);
    }
  });
  afterAll(() => under?.close());

  it.each(ROWS)("$who may $what: $may", async ({ who, request, may }) => {
    const [code, message] = getRefusal(await under.send(who, request));
    if (may) expect([code, message]).toEqual([200, ""]);
    else expect([code, message]).toEqual([422, expect.stringContaining("kept by serverless-ccm")]);
    for (const path of [`${CONFIG_MAPS}/serverless-ccm`, `${LEASES}/serverless-ccm-relay`])
      expect((await under.send("admin", { method: "GET", path })).status).toBe(200);
  });

  it("an operator may delete it, a tenant may not create it, and the manifests may create it again", async () => {
    const path = `${CONFIG_MAPS}/serverless-ccm`;
    expect((await under.send("operator", { method: "DELETE", path })).status).toBe(200);
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "serverless-ccm" } };
    const create = { method: "POST", path: CONFIG_MAPS, body } as const;
    expect(getRefusal(await under.send("tenant", create))[0]).toBe(422);
    expect(getRefusal(await under.send("operator", create))).toEqual([201, ""]);
  });
});

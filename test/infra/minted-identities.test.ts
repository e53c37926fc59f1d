import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { mintToken } from "#config/registry/kubernetes/mint-token.ts";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { formatKubeconfig } from "#test/config/registry/kubernetes/management-stage.ts";
import { add, getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const POLICIES = [
  "csr.yaml",
  "events.yaml",
  "node.yaml",
  "node-lifecycle.yaml",
  "relay.yaml",
  "route.yaml",
  "ingress.yaml",
  "service.yaml",
  "tagging.yaml",
  "tenants/state.yaml",
  "identities.yaml",
];
const CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const EVENTS = "/api/v1/namespaces/default/events";
const SERVICE = "/api/v1/namespaces/default/services/kubernetes/status";

const patch = (path: string, body: readonly unknown[]): ApiRequest => ({
  method: "PATCH",
  path,
  body,
  contentType: "application/json-patch+json",
});
const eventOn = (kind: string, component: string): ApiRequest => ({
  method: "POST",
  path: EVENTS,
  body: {
    metadata: { generateName: "minted-" },
    involvedObject: { apiVersion: "v1", kind, name: "x" },
    source: { component },
  },
});
const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
const annotation = add("/metadata/annotations", { "example.com/by": "x" });

interface Row {
  readonly who: Identity;
  readonly what: string;
  readonly request: ApiRequest;
  /** Matches the message of the rejection; undefined if the write is allowed. */
  readonly says?: RegExp;
}

/** For each policy, one write that it rejects and one that it accepts; NODE is a node that is not Ready. */
const ROWS: readonly Row[] = [
  { who: "node", what: "changes nothing", request: patch("/api/v1/nodes/NODE", []) },
  {
    who: "node",
    what: "writes a label",
    request: patch("/api/v1/nodes/NODE", [add("/metadata/labels/a", "b")]),
    says: /writes no labels but/,
  },
  {
    who: "node-lifecycle",
    what: "deletes a node by its name alone",
    request: { method: "DELETE", path: "/api/v1/nodes/NODE" },
    says: /deletes a node by its uid/,
  },
  {
    who: "route",
    what: "writes another condition",
    request: patch("/api/v1/nodes/NODE/status", [
      add("/status/conditions", [{ type: "Mine", status: "True" }]),
    ]),
    says: /writes no condition but/,
  },
  { who: "route", what: "tells on a node", request: eventOn("Node", "route_controller") },
  {
    who: "route",
    what: "tells on a Service",
    request: eventOn("Service", "route_controller"),
    says: /records Events on Node alone/,
  },
  {
    who: "service",
    what: "writes an annotation",
    request: patch(SERVICE, [annotation]),
    says: /writes no annotation but|neither labels/,
  },
  {
    who: "service",
    what: "tells on a node",
    request: eventOn("Node", "service-controller"),
    says: /records Events on Service and Namespace alone/,
  },
  {
    who: "tagging",
    what: "writes a taint",
    request: patch("/api/v1/nodes/NODE", [add("/spec/unschedulable", true)]),
    says: /nothing of the spec/,
  },
  {
    who: "node-lifecycle",
    what: "writes what deletion remembers",
    request: patch(`${CONFIG_MAPS}/serverless-ccm`, [add("/data", { state: "{}" })]),
  },
  {
    who: "relay",
    what: "vouches for itself",
    request: {
      method: "PATCH",
      path: `${LEASES}/serverless-ccm-relay`,
      contentType: "application/merge-patch+json",
      body: { spec: { renewTime: "2030-01-01T00:00:00.000000Z" } },
    },
  },
  ...IDENTITIES.map((who) => ({
    who,
    what: "deletes a ConfigMap",
    request: { method: "DELETE" as const, path: `${CONFIG_MAPS}/other` },
    // If two policies reject the write, kube-apiserver names either of them.
    says: /does not DELETE configmaps|neither creates nor deletes it/,
  })),
];

describeWithPart(
  "control-plane",
  "a ServiceAccount of ours, by a token that was minted for it",
  (binaries) => {
    let under: PolicyUnderTest;
    const minted = new Map<Identity, Transport>();

    beforeAll(async () => {
      const manifests = ["all-powerful.yaml", "../../infra/rbac/service-accounts"].map(file);
      under = await startPolicy(
        binaries,
        POLICIES,
        (starting) => starting.send("sweep", { method: "POST", path: CONFIG_MAPS, body: configMap("probe") }),
        { manifests },
      );
      await under.send("admin", { method: "POST", path: CONFIG_MAPS, body: configMap("other") });
      const admin = await getConnectOptions(under.plane, "admin");
      const token = String(await admin.authorization?.()).replace("Bearer ", "");
      const secret = { namespace: "kube-system", name: "administrator", key: "value" };
      await under.send("admin", {
        method: "POST",
        path: "/api/v1/namespaces/kube-system/secrets",
        body: {
          metadata: { name: secret.name },
          stringData: { [secret.key]: formatKubeconfig(under.plane.server, { token }) },
        },
      });
      for (const identity of IDENTITIES) {
        const { token: own } = await mintToken({
          server: under.plane.server,
          tls: { certificateAuthority: admin.certificateAuthority },
          secret,
          serviceAccount: { namespace: "kube-system", name: formatUser(identity) },
          management: async () => connect(admin),
        });
        minted.set(identity, connect({ ...admin, authorization: async () => `Bearer ${own}` }));
      }
    });
    afterAll(async () => {
      for (const transport of minted.values()) await transport.close();
      await under?.close();
    });

    it.each(ROWS)("$who $what: like the user of the same name", async ({ who, what, request, says }) => {
      const name = `${who}-${what}`.replaceAll(/\W/g, "-").toLowerCase();
      await under.cluster.join({ name });
      const onNode = JSON.parse(JSON.stringify(request).replaceAll("NODE", name)) as ApiRequest;
      // A rejection for the user proves that the policy is in force.
      if (says !== undefined)
        await vi.waitFor(async () => expectRefused(await under.send(who, onNode), says), { timeout: 30_000 });
      const answer = await asMinted(who, onNode);
      if (says === undefined) expect(getRefusal(answer)).toEqual([answer.status, ""]);
      else expectRefused(answer, says);
    });

    it.each(IDENTITIES)("%s has a flow schema in priority and fairness", async (who) => {
      const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/serverless-ccm";
      const { metadata } = JSON.parse((await under.send("admin", { method: "GET", path })).body);
      for (const { headers } of [
        await under.send(who, { method: "GET", path: "/api/v1/nodes/none" }),
        await asMinted(who, { method: "GET", path: "/api/v1/nodes/none" }),
      ])
        expect(headers["x-kubernetes-pf-flowschema-uid"]).toBe(metadata.uid);
    });

    function asMinted(who: Identity, request: ApiRequest): Promise<ApiResponse> {
      const transport = minted.get(who);
      if (transport === undefined) throw new Error(`no token was minted for ${who}`);
      return transport.send(request);
    }
  },
);

function expectRefused(answer: ApiResponse, says: RegExp): void {
  expect(getRefusal(answer)).toEqual([422, expect.stringMatching(says)]);
}

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { IDENTITIES, type Identity } from "#core/identities.ts";
import { RIGHTS } from "#core/rights.ts";
import type { ApiRequest } from "#kube/client/transport.ts";
import { createSigningRequest } from "#test/csr/signing-request.ts";
import { add, getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const JSON_PATCH = "application/json-patch+json";
const label = { contentType: JSON_PATCH, body: [add("/metadata/labels", { "example.com/by": "x" })] };
const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

interface Write extends ApiRequest {
  readonly what: string;
  /** The identities that may; none by default. */
  readonly who: readonly Identity[];
}

/** NAME is a node that is not Ready, or a signing request. A dry run affects no real object. */
const WRITES: readonly Write[] = [
  {
    what: "patch a node",
    who: ["node", "node-lifecycle", "tagging"],
    method: "PATCH",
    path: "/api/v1/nodes/NAME",
    contentType: JSON_PATCH,
    body: [],
  },
  {
    what: "patch a node's status",
    who: ["node", "route"],
    method: "PATCH",
    path: "/api/v1/nodes/NAME/status",
    contentType: JSON_PATCH,
    body: [],
  },
  { what: "delete a node", who: ["node-lifecycle"], method: "DELETE", path: "/api/v1/nodes/NAME" },
  {
    what: "create a node",
    who: [],
    method: "POST",
    path: "/api/v1/nodes",
    body: { apiVersion: "v1", kind: "Node", metadata: { name: "forged" } },
  },
  {
    what: "record an Event",
    who: ["node", "node-lifecycle", "csr", "service", "route"],
    method: "POST",
    path: "/api/v1/namespaces/default/events",
    body: {
      metadata: { generateName: "policy-" },
      involvedObject: { apiVersion: "v1", kind: "Node", name: "NAME" },
    },
  },
  {
    what: "patch a Service's status",
    who: ["service"],
    method: "PATCH",
    path: "/api/v1/namespaces/default/services/kubernetes/status",
    contentType: JSON_PATCH,
    body: [],
  },
  {
    what: "patch a Service",
    who: [],
    method: "PATCH",
    path: "/api/v1/namespaces/default/services/kubernetes",
    ...label,
  },
  {
    what: "write what deletion remembers",
    who: ["node-lifecycle"],
    method: "PUT",
    path: `${CONFIG_MAPS}/serverless-ccm`,
    body: { ...configMap("serverless-ccm"), data: { state: "{}" } },
  },
  {
    what: "delete what deletion remembers",
    who: [],
    method: "DELETE",
    path: `${CONFIG_MAPS}/serverless-ccm`,
  },
  {
    what: "write another ConfigMap",
    who: [],
    method: "PUT",
    path: `${CONFIG_MAPS}/other`,
    body: configMap("other"),
  },
  { what: "create a ConfigMap", who: [], method: "POST", path: CONFIG_MAPS, body: configMap("new") },
  {
    what: "vouch for the relay",
    who: ["relay"],
    method: "PATCH",
    path: `${LEASES}/serverless-ccm-relay`,
    contentType: "application/merge-patch+json",
    body: { spec: { holderIdentity: "x" } },
  },
  {
    what: "write another Lease",
    who: [],
    method: "PATCH",
    path: `${LEASES}/other`,
    contentType: "application/merge-patch+json",
    body: { spec: { holderIdentity: "x" } },
  },
  {
    what: "decide on a certificate",
    who: ["csr"],
    method: "PATCH",
    path: `${CSRS}/NAME/approval`,
    contentType: "application/merge-patch+json",
    body: { status: { conditions: [{ type: "Denied", status: "True", reason: "No", message: "" }] } },
  },
  { what: "change a signing request", who: [], method: "PATCH", path: `${CSRS}/NAME`, ...label },
  { what: "label a namespace", who: [], method: "PATCH", path: "/api/v1/namespaces/default", ...label },
  {
    what: "grant itself more",
    who: [],
    method: "POST",
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    body: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "more" },
      rules: [],
    },
  },
  { what: "delete all Services", who: [], method: "DELETE", path: "/api/v1/namespaces/default/services" },
  { what: "delete all ConfigMaps", who: [], method: "DELETE", path: CONFIG_MAPS },
  { what: "delete all Leases", who: [], method: "DELETE", path: LEASES },
  {
    what: "delete all signing requests",
    who: [],
    method: "DELETE",
    path: `${CSRS}?fieldSelector=metadata.name%3DNAME`,
  },
  {
    what: "set externalIPs of a Service",
    who: [],
    method: "PATCH",
    path: "/api/v1/namespaces/default/services/kubernetes",
    contentType: JSON_PATCH,
    body: [add("/spec/externalIPs", ["192.0.2.1"])],
  },
  {
    what: "make a Secret",
    who: [],
    method: "POST",
    path: "/api/v1/namespaces/kube-system/secrets",
    body: { apiVersion: "v1", kind: "Secret", metadata: { generateName: "theft-" } },
  },
  {
    what: "run a Pod",
    who: [],
    method: "POST",
    path: "/api/v1/namespaces/kube-system/pods",
    body: {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { generateName: "theft-" } },
      spec: { containers: [{ name: "a", image: "example.com/a" }] },
    },
  },
  {
    what: "run a program in a Pod",
    who: [],
    method: "POST",
    path: "/api/v1/namespaces/kube-system/pods/a/exec?command=sh&stdout=true",
  },
  { what: "ask a kubelet", who: [], method: "GET", path: "/api/v1/nodes/NAME/proxy/pods" },
  {
    what: "put an API server of its own in place",
    who: [],
    method: "POST",
    path: "/apis/apiregistration.k8s.io/v1/apiservices",
    body: {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.theft.example.com" },
      spec: {
        ...{ group: "theft.example.com", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
        ...{ insecureSkipTLSVerify: true, service: { namespace: "default", name: "kubernetes" } },
      },
    },
  },
  {
    what: "have a token made",
    who: [],
    method: "POST",
    path: "/api/v1/namespaces/kube-system/serviceaccounts/policy/token",
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { audiences: [] } },
  },
];

const ROWS = WRITES.flatMap((write) =>
  IDENTITIES.map((identity) => ({ ...write, identity, may: write.who.includes(identity) })),
);

describeWithPart(
  "control-plane",
  "infra/admission/identities.yaml, where roles have come to allow everything",
  (binaries) => {
    let under: PolicyUnderTest;
    let count = 0;

    beforeAll(async () => {
      under = await startPolicy(
        binaries,
        ["identities.yaml"],
        (starting) => starting.send("sweep", { method: "POST", path: CONFIG_MAPS, body: configMap("probe") }),
        { manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))] },
      );
      await made({ method: "POST", path: CONFIG_MAPS, body: configMap("other") });
      const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "other" } };
      await made({ method: "POST", path: LEASES, body: lease });
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "policy" } };
      await made({ method: "POST", path: "/api/v1/namespaces/kube-system/serviceaccounts", body: account });
    });
    afterAll(() => under?.close());

    it.each(ROWS)("$identity and $what: $may", async ({ identity, may, who: _, what: __, ...request }) => {
      const name = await fresh(request.path);
      const onName = JSON.parse(JSON.stringify(request).replaceAll("NAME", name)) as ApiRequest;
      const [code, message] = getRefusal(await under.send(identity, onName));
      if (may) expect([code < 300, message]).toEqual([true, ""]);
      else expect([code, message]).toEqual([422, expect.stringMatching(/does not|writes no other of/)]);
    });

    it.each(IDENTITIES)("%s may request what it may", async (identity) => {
      const body = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: { verb: "list", resource: "nodes" } },
      };
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      expect(getRefusal(await under.send(identity, { method: "POST", path, body }))).toEqual([201, ""]);
    });

    it("has a row for every permitted write", () => {
      const writers = IDENTITIES.filter((identity) =>
        RIGHTS[identity].some(({ verb }) => !["get", "list", "watch", "approve"].includes(verb)),
      );
      expect(
        IDENTITIES.filter((identity) => ROWS.some((row) => row.identity === identity && row.may)),
      ).toEqual(writers);
    });

    it("applies to no other identity", async () => {
      await made({ method: "POST", path: CONFIG_MAPS, body: configMap("theirs") });
    });

    async function made(request: ApiRequest): Promise<void> {
      expect(getRefusal(await under.send("admin", request))).toEqual([201, ""]);
    }

    /** Creates a node or a signing request for each row. */
    async function fresh(path: string): Promise<string> {
      count += 1;
      const name = `policy-${count}`;
      if (path.startsWith(CSRS)) {
        const spec = {
          signerName: "kubernetes.io/kubelet-serving",
          usages: ["digital signature", "server auth"],
          request: REQUEST,
        };
        const body = {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { name },
          spec,
        };
        await made({ method: "POST", path: CSRS, body });
      } else if (path.startsWith("/api/v1/nodes")) await under.cluster.join({ name });
      return name;
    }
  },
);

const REQUEST = Buffer.from(
  await createSigningRequest("policy", { names: [{ type: "dns", value: "policy" }] }),
).toString("base64");

import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** A request with a stolen identity. */
interface Theft extends ApiRequest {
  readonly what: string;
  /** The identities whose roles allow it, so that a policy of infra/admission decides; none by default. */
  readonly who?: readonly Identity[];
}

const RBAC = fileURLToPath(new URL("../../infra/rbac", import.meta.url));
const CORE = "/api/v1/namespaces/kube-system";
const SERVICES = "/api/v1/namespaces/default/services";
const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";

const get = (path: string): ApiRequest => ({ method: "GET", path });
const post = (path: string): ApiRequest => ({ method: "POST", path, body: {} });
const merge = (path: string, body: object): ApiRequest => ({
  ...{ method: "PATCH", path, body },
  contentType: "application/merge-patch+json",
});
const deletion = (path: string): ApiRequest => ({ method: "DELETE", path });

const READS: readonly Theft[] = [
  { what: "reads the Secrets of all namespaces", ...get("/api/v1/secrets") },
  { what: "reads the Secrets of a namespace", ...get(`${CORE}/secrets`) },
  { what: "reads one Secret", ...get(`${CORE}/secrets/token`) },
  { what: "watches Secrets", ...get("/api/v1/secrets?watch=true") },
  { what: "reads Pods", ...get("/api/v1/pods") },
  { what: "reads the log of a Pod", ...get(`${CORE}/pods/a/log`) },
  { what: "reads other ConfigMaps", ...get(`${CORE}/configmaps/extension-apiserver-authentication`) },
  { what: "lists ConfigMaps", ...get(`${CORE}/configmaps`) },
  { what: "lists ServiceAccounts", ...get("/api/v1/serviceaccounts") },
  { what: "reads Events", ...get("/api/v1/events") },
  { what: "asks a kubelet through the API server", ...get("/api/v1/nodes/theft/proxy/pods") },
  { what: "reads the metrics of a kubelet", ...get("/api/v1/nodes/theft/metrics") },
  { what: "asks a Service through the API server", ...get(`${SERVICES}/kubernetes/proxy/`) },
  { what: "reads roles", ...get(ROLES) },
  { what: "reads the metrics of the API server", ...get("/metrics") },
];

const ESCALATIONS: readonly Theft[] = [
  { what: "has a token made", ...post(`${CORE}/serviceaccounts/default/token`) },
  { what: "makes a Secret", ...post(`${CORE}/secrets`) },
  { what: "makes a ServiceAccount", ...post(`${CORE}/serviceaccounts`) },
  { what: "runs a Pod", ...post(`${CORE}/pods`) },
  { what: "runs a program in a Pod", ...post(`${CORE}/pods/a/exec?command=sh`) },
  { what: "attaches to a Pod", ...post(`${CORE}/pods/a/attach`) },
  {
    what: "adds a container to a Pod",
    ...merge(`${CORE}/pods/a/ephemeralcontainers`, { spec: { ephemeralContainers: [] } }),
  },
  { what: "evicts a Pod", ...post(`${CORE}/pods/a/eviction`) },
  { what: "binds a Pod to a node", ...post(`${CORE}/pods/a/binding`) },
  { what: "runs something on every node", ...post("/apis/apps/v1/namespaces/kube-system/daemonsets") },
  { what: "makes a role", ...post(ROLES) },
  { what: "binds a role", ...post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings") },
  { what: "widens a role of its own", ...merge(`${ROLES}/${formatUser("node")}`, { rules: [] }) },
  { what: "acts as another user", ...get("/api/v1/nodes"), actAs: "system:admin" },
  { what: "asks for a client certificate", ...post(CSRS) },
  { what: "changes a signing request", ...merge(`${CSRS}/theft`, { metadata: { labels: {} } }) },
  { what: "writes a certificate", ...merge(`${CSRS}/theft/status`, { status: { certificate: "AAAA" } }) },
  { what: "makes a webhook", ...post(`${ADMISSION}/mutatingwebhookconfigurations`) },
  { what: "makes a policy", ...post(`${ADMISSION}/mutatingadmissionpolicies`) },
  {
    what: "removes the policy that holds it",
    ...deletion(`${ADMISSION}/validatingadmissionpolicies/serverless-ccm-identities`),
  },
  {
    what: "puts an API server of its own in place",
    ...merge("/apis/apiregistration.k8s.io/v1/apiservices/v1.", { spec: {} }),
  },
  { what: "reviews a token", ...post("/apis/authentication.k8s.io/v1/tokenreviews") },
];

/** Collections of each of our identities, and some foreign ones. */
const COLLECTIONS: readonly string[] = [
  "/api/v1/nodes",
  SERVICES,
  "/api/v1/namespaces/default/events",
  `${CORE}/configmaps`,
  `${CORE}/secrets`,
  `${CORE}/pods`,
  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
  CSRS,
];

const WRITES: readonly Theft[] = [
  ...COLLECTIONS.map((path) => ({ what: `deletes the collection ${path}`, ...deletion(path) })),
  {
    ...{ what: "deletes a node", who: ["node-lifecycle"] },
    ...deletion("/api/v1/nodes/theft"),
    body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] },
  },
  { what: "makes a node", ...post("/api/v1/nodes") },
  { what: "deletes a Service", ...deletion(`${SERVICES}/kubernetes`) },
  { what: "makes a Service", ...post(SERVICES) },
  // kube-vip reads the address in the spec, so its manifests grant it and its policy ignores that field.
  {
    ...{ what: "sets externalIPs of a Service", who: ["service"] },
    ...merge(`${SERVICES}/kubernetes?dryRun=All`, { spec: { externalIPs: ["192.0.2.1"] } }),
  },
  { what: "writes EndpointSlices", ...post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices") },
  { what: "deletes a namespace", ...deletion("/api/v1/namespaces/kube-system") },
  {
    what: "takes a namespace's finalizers away",
    ...{ method: "PUT", path: "/api/v1/namespaces/kube-system/finalize", body: {} },
  },
  { what: "labels a namespace", ...merge("/api/v1/namespaces/kube-system", { metadata: { labels: {} } }) },
];

const ROWS = [...READS, ...ESCALATIONS, ...WRITES].flatMap((theft) =>
  IDENTITIES.flatMap((identity) => (theft.who?.includes(identity) ? [] : [{ ...theft, identity }])),
);

describeWithPart("control-plane", "the roles of infra/rbac, all of them, on kube-apiserver", (binaries) => {
  let cluster: ClusterUnderTest;
  const transports = new Map<Identity, Transport>();
  const send = (identity: Identity, request: ApiRequest): Promise<ApiResponse> | undefined =>
    transports.get(identity)?.send(request);

  beforeAll(async () => {
    const folders = (await readdir(RBAC, { withFileTypes: true }))
      .filter((entry) => entry.isDirectory() && entry.name !== "service-accounts")
      .map(({ name }) => `${RBAC}/${name}`);
    cluster = await startCluster((folder) =>
      startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...folders] }),
    );
    await cluster.join({ name: "theft" });
    for (const identity of IDENTITIES) transports.set(identity, await cluster.transport(identity));
  });
  afterAll(() => cluster?.close());

  it.each(ROWS)("$identity never $what", async ({ identity, what: _, who: __, ...request }) => {
    const answer = await send(identity, request);
    expect([answer?.status, answer?.body]).toEqual([403, expect.stringContaining("forbidden")]);
  });

  it("leave the decision about allowed requests to the policies", async () => {
    for (const { who = [], what: _, ...request } of WRITES)
      for (const identity of who) {
        const answer = await send(identity, request);
        expect([identity, request.path, answer?.status]).toEqual([identity, request.path, 200]);
      }
  });
});

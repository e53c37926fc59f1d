import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { ask, askForJson } from "#test/ask.ts";
import {
  MANIFESTS,
  type ServicesUnderTest,
  startServices,
} from "#test/functions/services/services-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// Answers that the cluster-admin of a stock kube-apiserver can forge, and those that it cannot.

/** The uid of another cluster's Service. */
const VICTIMS_UID = "00000001-0000-4000-8000-000000000000";
const VICTIMS: MemoryLoadBalancer = {
  ...{ cluster: "victim", service: "default/web", hostname: "web.victim.example" },
  listeners: [{ protocol: "TCP", port: 80, nodePort: 30_080 }],
  targets: ["memory:///zone-a/victim"],
};
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const SERVICES = "/api/v1/namespaces/default/services";
const RULES = [
  { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["services"], scope: "*" },
];
const created = { apiVersion: "v1", kind: "Service", spec: { type: "LoadBalancer", ports: [{ port: 80 }] } };

interface Stored {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
}

describeWithPart("control-plane", "a stock kube-apiserver", (binaries) => {
  let cluster: ClusterUnderTest;
  let admin: Transport;
  let under: ServicesUnderTest;
  let server: Server;
  let certificateAuthority: string;
  /** The answer of the tenant's server, and the headers of its requests. */
  let answer: (body: string, request: IncomingMessage) => object;
  const arrived: { readonly path: string; readonly authorization: string | undefined }[] = [];

  beforeAll(async () => {
    cluster = await startCluster((folder) =>
      startKubeApiserver({ folder, binaries, manifests: [...OUR_MANIFESTS, ...MANIFESTS] }),
    );
    admin = await cluster.transport("admin");
    under = await startServices(cluster);
    const authority = await createCertificateAuthority();
    certificateAuthority = authority.certificate;
    const { certificate, key } = await authority.issueServer();
    server = createTlsServer({ cert: certificate, key }, handle) as unknown as Server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(async () => {
    server?.close();
    await cluster?.close();
  });
  afterEach(() => under.reset());

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      arrived.push({ path: request.url ?? "", authorization: request.headers.authorization });
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer(Buffer.concat(parts).toString(), request)));
    });
  }
  const port = (): number => (server.address() as AddressInfo).port;
  const send = (method: ApiRequest["method"], path: string, body?: unknown) =>
    ask(admin, { method, path, ...(body === undefined ? {} : { body }) });

  /** Creates a Service once the tenant's mutation is in force, which an annotation shows. */
  async function createMutated(): Promise<Stored> {
    let stored: Stored | undefined;
    let count = 0;
    await vi.waitFor(
      async () => {
        count += 1;
        const metadata = { name: `mutated-${count}` };
        stored = (await askForJson(admin, {
          ...{ method: "POST", path: SERVICES },
          body: { ...created, metadata },
        })) as Stored;
        expect(stored.metadata.annotations?.["mutated"]).toBe("yes");
      },
      { timeout: 30_000, interval: 200 },
    );
    if (stored === undefined) throw new Error("no Service was created");
    return stored;
  }

  test("a mutating webhook cannot change the uid of a Service", async () => {
    const patch = [
      { op: "add", path: "/metadata/uid", value: VICTIMS_UID },
      { op: "add", path: "/metadata/annotations", value: { mutated: "yes" } },
    ];
    answer = (body) => ({
      ...{ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" },
      response: {
        ...{ uid: JSON.parse(body).request.uid, allowed: true, patchType: "JSONPatch" },
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      },
    });
    await send("POST", `${ADMISSION}/mutatingwebhookconfigurations`, {
      ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration" },
      metadata: { name: "forge" },
      webhooks: [
        {
          ...{ name: "forge.example.com", admissionReviewVersions: ["v1"], sideEffects: "None" },
          ...{ failurePolicy: "Ignore", rules: RULES },
          clientConfig: {
            url: `https://127.0.0.1:${port()}/`,
            caBundle: Buffer.from(certificateAuthority).toString("base64"),
          },
        },
      ],
    });
    try {
      expect((await createMutated()).metadata.uid).not.toBe(VICTIMS_UID);
    } finally {
      await send("DELETE", `${ADMISSION}/mutatingwebhookconfigurations/forge`);
    }
  });

  test("a MutatingAdmissionPolicy cannot change the uid of a Service", async () => {
    const policies = `${ADMISSION}/mutatingadmissionpolicies`;
    const kinds = { apiVersion: "admissionregistration.k8s.io/v1" };
    const expression = `Object{metadata: Object.metadata{uid: "${VICTIMS_UID}", annotations: {"mutated": "yes"}}}`;
    await send("POST", policies, {
      ...{ ...kinds, kind: "MutatingAdmissionPolicy", metadata: { name: "forge" } },
      spec: {
        ...{ failurePolicy: "Fail", reinvocationPolicy: "Never" },
        matchConstraints: { resourceRules: RULES },
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
      },
    });
    await send("POST", `${policies.replace("policies", "policybindings")}`, {
      ...{ ...kinds, kind: "MutatingAdmissionPolicyBinding", metadata: { name: "forge" } },
      spec: { policyName: "forge" },
    });
    try {
      expect((await createMutated()).metadata.uid).not.toBe(VICTIMS_UID);
    } finally {
      await send("DELETE", `${policies.replace("policies", "policybindings")}/forge`);
      await send("DELETE", `${policies}/forge`);
    }
  });

  test("a replaced APIService v1. returns a tenant's own uids: the victim's load balancer stays, and no token of ours goes there", async () => {
    const service = await under.create("web");
    const forged = { ...service, metadata: { ...service.metadata, uid: VICTIMS_UID } };
    const list = { kind: "ServiceList", apiVersion: "v1", metadata: { resourceVersion: "1" } };
    answer = (_, { url = "" }) =>
      /\/services\/web/.test(url)
        ? { ...forged, apiVersion: "v1", kind: "Service" }
        : { ...list, items: [forged] };
    under.world.loadBalancers.set(VICTIMS_UID, VICTIMS);
    await send("POST", SERVICES, {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "elsewhere" } },
      spec: { type: "ExternalName", externalName: "localhost", ports: [{ port: port() }] },
    });
    const path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.";
    const contentType = "application/merge-patch+json";
    const replaced = {
      metadata: { labels: { "kube-aggregator.kubernetes.io/automanaged": null } },
      spec: {
        ...{ insecureSkipTLSVerify: true },
        service: { namespace: "default", name: "elsewhere", port: port() },
      },
    };
    arrived.length = 0;
    await ask(admin, { method: "PATCH", path, body: replaced, contentType });
    try {
      const api = await cluster.transport("service");
      const uids = async (): Promise<string[]> => {
        const { items } = (await askForJson(api, { method: "GET", path: "/api/v1/services" })) as {
          items: readonly Stored[];
        };
        return items.map(({ metadata }) => metadata.uid);
      };
      await vi.waitFor(async () => expect(await uids()).toEqual([VICTIMS_UID]), { timeout: 60_000 });
      const related = {
        nodes: { resourceVersion: "1", items: [] },
        services: { resourceVersion: "1", items: [] },
      };
      for (const reason of ["watch", "refresh"] as const)
        expect(
          (await under.invoke(service, { reason, related, said: () => forged })).report?.objects,
        ).toEqual([
          expect.objectContaining({
            uid: VICTIMS_UID,
            because: expect.objectContaining({ code: "NameTaken" }),
          }),
        ]);
      expect(arrived.length).toBeGreaterThan(0);
      expect(arrived.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
    } finally {
      const own = { metadata: { labels: {} }, spec: { service: null, insecureSkipTLSVerify: null } };
      await ask(admin, { method: "PATCH", path, body: own, contentType });
    }
    expect(under.world.loadBalancers.get(VICTIMS_UID)).toEqual(VICTIMS);
  });
});

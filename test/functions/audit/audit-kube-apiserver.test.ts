import { afterAll, beforeAll, expect, test } from "vitest";
import { OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createSigningRequest } from "#test/csr/signing-request.ts";
import { waitUntil } from "#test/e2e/stage.ts";
import { type AuditStage, startAuditStage } from "#test/functions/audit/audit-stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TIMEOUT_MS = 60_000;
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SERVICES = "/api/v1/namespaces/default/services";
const KUBELET = "node-0";

describeWithPart("control-plane", "kube-apiserver's own audit webhook, and no relay", (binaries) => {
  let stage: AuditStage;

  beforeAll(async () => {
    const users = [{ name: `system:node:${KUBELET}`, groups: ["system:nodes", "system:authenticated"] }];
    stage = await startAuditStage(
      ({ flags = [], ...options }) =>
        startKubeApiserver({
          ...options,
          ...{ binaries, users },
          // The test sees the server's retries; with the default they come after ten seconds.
          flags: [...flags, "--audit-webhook-initial-backoff=1s", "--authorization-mode=Node"],
        }),
      OUR_MANIFESTS,
    );
  });
  afterAll(() => stage?.close());

  const untilUp = (): Promise<void> =>
    waitUntil("all nodes to come up", async () => (await stage.waiting()).length === 0, TIMEOUT_MS);

  test("one node comes up", async () => {
    await stage.join([KUBELET]);
    await untilUp();
    expect(stage.events.map(({ controller, reason }) => `${controller} ${reason}`)).toContain(
      "cloud-node-controller sweep",
    );
    expect(new Set(stage.url.statuses)).toEqual(new Set([200]));
  });

  test("a hundred nodes come up", async () => {
    await stage.join(Array.from({ length: 100 }, (_, index) => `burst-${index}`));
    await untilUp();
    expect(stage.url.statuses.every((status) => status === 200)).toBe(true);
  });

  test("a Service gets its load balancer", async () => {
    const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
    const body = { metadata: { name: "web" }, spec };
    expect((await stage.admin.send({ method: "POST", path: SERVICES, body })).status).toBe(201);
    await waitUntil(
      "the address of the load balancer",
      async () => {
        const answer = await stage.admin.send({ method: "GET", path: `${SERVICES}/web` });
        return JSON.parse(answer.body).status.loadBalancer.ingress?.length > 0;
      },
      TIMEOUT_MS,
    );
  });

  test("a kubelet's request for its certificate is approved", async () => {
    const node = await stage.cluster.read(KUBELET);
    const ip = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "";
    const pem = await createSigningRequest(KUBELET, {
      names: [
        { type: "ip", value: ip },
        { type: "dns", value: KUBELET },
      ],
    });
    const kubelet = await stage.cluster.transport(`system:node:${KUBELET}` as "admin");
    const body = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { generateName: "csr-" },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName: "kubernetes.io/kubelet-serving",
        usages: ["digital signature", "server auth"],
      },
    };
    const created = await kubelet.send({ method: "POST", path: CSRS, body });
    expect([created.status, created.body]).toEqual([201, expect.any(String)]);
    const { name } = JSON.parse(created.body).metadata;
    await waitUntil(
      "the approval",
      async () => {
        const answer = await stage.admin.send({ method: "GET", path: `${CSRS}/${name}` });
        return JSON.parse(answer.body).status.conditions?.some(
          ({ type }: { type: string }) => type === "Approved",
        );
      },
      TIMEOUT_MS,
    );
  });

  test("a sweep finds what was missed while the webhook's endpoint was away", async () => {
    await stage.url.turnOff();
    const names = Array.from({ length: 20 }, (_, index) => `missed-${index}`);
    await stage.join(names);
    const swept = await stage.sweep();
    expect(swept).toMatchObject({ mode: "full", because: undefined });
    expect(await stage.waiting()).toEqual([]);
    await stage.url.turnOn();
    await stage.join(["after"]);
    await untilUp();
  });

  test("the API server repeats a report whose objects could not be looked at", async () => {
    stage.canSignIn = false;
    await stage.join(["unseen"]);
    await waitUntil("an answer 503", async () => stage.url.statuses.includes(503), TIMEOUT_MS);
    stage.canSignIn = true;
    await untilUp();
  });

  test("the API server repeats a report for which the endpoint was away", async () => {
    await stage.url.turnOff();
    await stage.join(["repeated"]);
    await stage.url.turnOn();
    await untilUp();
  });
});

import { afterEach, beforeEach, expect, test } from "vitest";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { LOOK_AHEAD, NODE_CLAIM_DEFINITION } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 20;
const CLAIMS = "/apis/karpenter.sh/v1/nodeclaims";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TIMEOUT_MS = 60_000;

describeWithPart("control-plane", "machines that are announced to run, on a real API server", (binaries) => {
  let stage: Stage;
  let admin: Transport;
  beforeEach(async () => {
    stage = await startStage(binaries, ...LOOK_AHEAD, NODE_CLAIM_DEFINITION);
    admin = await stage.cluster.transport("admin");
  });
  afterEach(() => stage?.close());

  const send = async (method: "POST" | "PATCH", path: string, body: object) => {
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answer = await admin.send({ method, path, body, contentType });
    expect([answer.status, answer.status < 300 ? "" : answer.body]).toEqual([expect.any(Number), ""]);
  };
  const claim = async ({ id, availabilityZone }: Ec2Instance) => {
    await send("POST", CLAIMS, { apiVersion: "karpenter.sh/v1", kind: "NodeClaim", metadata: { name: id } });
    await send("PATCH", `${CLAIMS}/${id}/status`, {
      status: { providerID: `aws:///${availabilityZone}/${id}` },
    });
  };
  const request = async ({ id, privateDnsName }: Ec2Instance) =>
    send("POST", CSRS, {
      ...{
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: `node-csr-${id}` },
      },
      spec: {
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        request: toBase64(await createSigningRequest(privateDnsName, { names: [] })),
        usages: ["digital signature", "client auth"],
      },
    });
  const listCalls = () => stage.ec2.record().filter(({ action }) => action === "DescribeInstances");
  const countFound = () => listCalls().reduce((sum, { results }) => sum + results, 0);

  test.each([
    ["node-claims", claim, true],
    ["kubelet-csrs", request, false],
  ] as const)("come up while EC2 is away: %s", async (source, announce, hasProviderID) => {
    const ccm = await stage.run("--look-ahead", source);
    await ccm.line("Listed");
    const instances = stage.ec2.addInstances(Array.from({ length: NODES }, () => ({})));
    await Promise.all(instances.map(announce));
    await waitUntil("their look-up", async () => countFound() === NODES, TIMEOUT_MS);
    expect(listCalls().length).toBeLessThan(NODES / 2);
    stage.ec2.set({ denied: ["DescribeInstances"] });
    await Promise.all(
      instances.map(({ id, availabilityZone, privateDnsName: name }) =>
        stage.cluster.join({
          name,
          ...(hasProviderID ? { providerID: `aws:///${availabilityZone}/${id}` } : {}),
        }),
      ),
    );
    await stage.untilUp(instances);
    expect([countFound(), await stage.flaws()]).toEqual([NODES, []]);
  });
});

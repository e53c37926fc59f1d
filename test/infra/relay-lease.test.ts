import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildRenewal, parseLeaseState } from "#core/relay-lease.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import { withSmallAnswers } from "#kube/client/byte-buffer.ts";
import type { Transport } from "#kube/client/transport.ts";
import { readLease } from "#sweep/sweep-cluster.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const MANIFEST = fileURLToPath(new URL("../../infra/state/relay-lease.yaml", import.meta.url));
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/serverless-ccm-relay";
const SIGNAL = new AbortController().signal;

describeWithPart("control-plane", "the relay's Lease on a real API server", (binaries) => {
  let cluster: ClusterUnderTest;
  let plane: KubeApiserver;
  let relay: Transport;
  let sweep: Transport;
  let admin: Transport;

  beforeAll(async () => {
    cluster = await startCluster(async (folder) => {
      plane = await startKubeApiserver({ folder, binaries });
      return plane;
    });
    relay = withSmallAnswers(await cluster.transport("relay"));
    sweep = await cluster.transport("sweep");
    admin = await cluster.transport("admin");
    await admin.send({ method: "DELETE", path: LEASE });
  });
  afterAll(() => cluster?.close());

  const renew = (at = new Date()) => sendWrite(relay, buildRenewal(at), SIGNAL);
  const read = (now = new Date()) => readLease(sweep, now, SIGNAL);

  it("is missing for both before the manifest is applied, and the relay cannot create it", async () => {
    expect(await renew()).toMatchObject({ kind: "gone" });
    expect(await read()).toEqual({ kind: "missing" });
  });

  it("is stale when created, and fresh when renewed", async () => {
    await plane.apply(MANIFEST);
    expect(await read()).toEqual({ kind: "stale" });
    expect(await renew()).toMatchObject({ kind: "applied", metadata: { uid: expect.any(String) } });
    expect(await read()).toMatchObject({ kind: "fresh" });
    expect(await read(new Date(Date.now() + 130_000))).toMatchObject({ kind: "stale" });
  });

  it("can be renewed by two relays at once without a conflict", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => renew()));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(["applied"]));
  });

  it("keeps its renewal when the manifest is applied again", async () => {
    await renew();
    await plane.apply(MANIFEST);
    expect(await read()).toMatchObject({ kind: "fresh" });
  });

  it("is left alone and counts for nothing if another client owns it", async () => {
    await admin.send({
      method: "PATCH",
      path: LEASE,
      body: [{ op: "add", path: "/spec/holderIdentity", value: "other-client" }],
      contentType: "application/json-patch+json",
    });
    expect(await renew()).toMatchObject({ kind: "conflict" });
    expect(await read()).toMatchObject({ kind: "unreadable" });
    expect(parseLeaseState({}, new Date())).toMatchObject({ kind: "unreadable" });
  });
});

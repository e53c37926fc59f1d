import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createKeepalivedCloud } from "#clouds/keepalived/cloud.ts";
import { KeepalivedCloudConfig } from "#clouds/keepalived/kind.ts";
import { readLedger } from "#clouds/keepalived/ledger.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const COLLECTION = "/api/v1/namespaces/kube-system/configmaps";
const PATH = `${COLLECTION}/vip-configmap`;
const CONFIG = { provider: "keepalived", configMap: "vip-configmap", serviceCIDR: "10.0.0.0/24" } as const;
const DELETING = { loadBalancers: { deleteOrphaned: true } };

let cluster: ClusterUnderTest;
let under: OrphansUnderTest;
let admin: Transport;

beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  admin = await cluster.transport("admin");
  const functions = await cluster.transport("service");
  const objects = clusterObjects(async () => functions);
  const make = () => createKeepalivedCloud(KeepalivedCloudConfig.parse(CONFIG), { objects });
  under = await startOrphans(cluster, () => ({ config: CONFIG, make }));
});
afterAll(() => cluster?.close());
beforeEach(async () => {
  await under.reset();
  await admin.send({ method: "DELETE", path: PATH });
  await askForJson(admin, {
    method: "POST",
    path: COLLECTION,
    body: { metadata: { name: "vip-configmap" } },
  });
});

async function ledger() {
  const read = readLedger(await askForJson(admin, { method: "GET", path: PATH }));
  if (typeof read === "string") throw new Error(read);
  return read;
}

const names = async () => (await ledger()).entries.map(({ serviceName }) => serviceName);

/** One that lives, and one that is lost. */
async function orphaned(): Promise<string> {
  await under.create("lives");
  const { metadata } = await under.create("lost");
  await under.lose("lost");
  under.actions.length = 0;
  return metadata.uid;
}

test("an address whose Service has gone is told, and stays unless the operator wants it dropped", async () => {
  const uid = await orphaned();
  for (const minutes of [0, 20, 20]) {
    under.later(minutes);
    const { report, lines } = await under.audit();
    expect(report).toMatchObject({ outcome: "unchanged", orphans: { count: 1 } });
    expect(lines).toContainEqual(
      expect.objectContaining({ event: "OrphanedLoadBalancer", kind: "address", target: uid, name: "lost" }),
    );
  }
  expect(await names()).toEqual(["lives", "lost"]);
});

test("then it is dropped in its turn, after two audits, and its key with it; the mark goes too", async () => {
  const uid = await orphaned();
  under.configure(DELETING);
  await under.audit();
  expect(under.actions).toEqual([`MarkAddress ${uid}`]);
  expect(Object.keys((await ledger()).marks)).toEqual([uid]);
  await under.audit();
  expect(await names()).toEqual(["lives", "lost"]);
  under.later(20);
  await under.audit();
  expect(under.actions).toEqual([`MarkAddress ${uid}`, `ReleaseAddress ${uid}`]);
  expect(await ledger()).toMatchObject({ data: { "10.0.0.1": "default/lives" }, marks: {}, hasMarks: false });
  expect(await names()).toEqual(["lives"]);
});

test("nothing is dropped while not all Services are known", async () => {
  await orphaned();
  under.configure(DELETING);
  await under.audit();
  under.later(20);
  const { report } = await under.audit({ unseen: ["lives"] });
  expect(report).toMatchObject({ outcome: "retry", because: { code: "ServicesIncomplete" } });
  expect(await names()).toEqual(["lives", "lost"]);
});

test("nothing is dropped without an address of a Service that lives beside", async () => {
  const { metadata } = await under.create("lost");
  await under.lose("lost");
  under.configure(DELETING);
  await under.audit();
  under.later(20);
  expect((await under.audit()).report).toMatchObject({ because: { code: "DeletionUnproven" } });
  expect((await ledger()).entries.map(({ uid }) => uid)).toEqual([metadata.uid]);
});

test("a mark on an address of a Service that lives is taken off", async () => {
  const { metadata } = await under.create("lives");
  const value = JSON.stringify({ [metadata.uid]: "2026-03-01T11:00:00.000Z/2026-03-01T12:00:00.000Z" });
  const path = "/metadata/annotations/serverless-ccm.io~1orphaned-addresses";
  const body = [{ op: "add", path, value }];
  await askForJson(admin, { method: "PATCH", path: PATH, body, contentType: "application/json-patch+json" });
  under.configure(DELETING);
  await under.audit();
  expect((await ledger()).hasMarks).toBe(false);
  expect(await names()).toEqual(["lives"]);
});

test("a Service made anew under the name takes the place of its predecessor at once", async () => {
  const uid = await orphaned();
  const { metadata } = await under.create("lost");
  expect(metadata.uid).not.toBe(uid);
  expect((await ledger()).entries.map((entry) => [entry.serviceName, entry.uid === uid, entry.ip])).toEqual([
    ["lives", false, "10.0.0.1"],
    ["lost", false, "10.0.0.2"],
  ]);
});

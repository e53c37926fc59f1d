import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createKeepalivedCloud } from "#clouds/keepalived/cloud.ts";
import { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { readVipAssignments } from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const COLLECTION = "/api/v1/namespaces/kube-system/configmaps";
const PATH = `${COLLECTION}/vip-configmap`;
const CONFIG = { provider: "keepalived", configMap: "vip-configmap", serviceCIDR: "10.0.0.0/24" } as const;
let cluster: ClusterUnderTest;
let under: OrphansUnderTest;
let admin: Transport;

beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  admin = await cluster.transport("admin");
  const functions = await cluster.transport("service");
  const objects = createClusterObjects(async () => functions);
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
  const read = readVipAssignments(await askForJson(admin, { method: "GET", path: PATH }));
  if (typeof read === "string") throw new Error(read);
  return read;
}

const names = async () => (await ledger()).entries.map(({ serviceName }) => serviceName);

/** Annotates the ConfigMap as another client. */
async function annotate(key: string, value: string): Promise<void> {
  const body = [{ op: "add", path: `/metadata/annotations/${key}`, value }];
  await askForJson(admin, { method: "PATCH", path: PATH, body, contentType: "application/json-patch+json" });
}

const mark = (value: string): Promise<void> => annotate("serverless-ccm.io~1orphaned-addresses", value);

/** Creates a live Service and a lost one. */
async function orphaned(): Promise<string> {
  await under.create("lives");
  const { metadata } = await under.create("lost");
  await under.lose("lost");
  under.actions.length = 0;
  return metadata.uid;
}

test("an address whose Service is gone is reported, and dropped by the second audit that finds it a minute later, with its key and its mark", async () => {
  const uid = await orphaned();
  const { report, lines } = await under.audit();
  expect(report).toMatchObject({ outcome: "retry", afterSeconds: 65, orphans: { count: 1 } });
  expect(lines).toContainEqual(
    expect.objectContaining({ event: "OrphanedLoadBalancer", kind: "address", target: uid, name: "lost" }),
  );
  expect(under.actions).toEqual([`MarkAddress ${uid}`]);
  expect(Object.keys((await ledger()).marks)).toEqual([uid]);
  // Another one in the same minute finds nothing to do.
  await under.audit();
  expect(await names()).toEqual(["lives", "lost"]);
  under.later(1);
  expect((await under.audit()).report).toMatchObject({ outcome: "changed" });
  expect(under.actions).toEqual([`MarkAddress ${uid}`, `ReleaseAddress ${uid}`]);
  expect(await ledger()).toMatchObject({ data: { "10.0.0.1": "default/lives" }, marks: {}, hasMarks: false });
  expect(await names()).toEqual(["lives"]);
  expect((await under.audit()).report).toMatchObject({ outcome: "unchanged", orphans: { count: 0 } });
});

test("the last address is dropped, too", async () => {
  await under.create("lost");
  await under.lose("lost");
  await under.audit();
  under.later(1);
  await under.audit();
  expect(await names()).toEqual([]);
});

test("nothing is marked or dropped while not all Services are known", async () => {
  await orphaned();
  expect((await under.audit({ unseen: ["lives"] })).report).toMatchObject({
    outcome: "retry",
    because: { code: "ServicesIncomplete" },
  });
  expect(under.actions).toEqual([]);
  await under.audit();
  under.later(1);
  expect((await under.audit({ unseen: ["lives"] })).report).toMatchObject({ outcome: "retry" });
  expect(await names()).toEqual(["lives", "lost"]);
});

test("the entry of a Service that changed its type is dropped, and a new Service with the name does not get it", async () => {
  await under.create("lives");
  const { metadata } = await under.create("retyped");
  const replaced = await under.create("replaced");
  await under.lose("retyped");
  await under.lose("replaced");
  const ports = [{ port: 80 }];
  const plain = await under.create("retyped", { spec: { type: "ClusterIP", ports } });
  await under.create("replaced", { spec: { type: "ClusterIP", ports } });
  // As a provider leaves it that was down when the type changed.
  const { entries } = await ledger();
  const state = entries.map((entry) =>
    entry.uid === metadata.uid ? { ...entry, uid: plain.metadata.uid } : entry,
  );
  await annotate("k8s.co~1cloud-provider-config", JSON.stringify({ services: state }));
  await under.audit();
  under.later(1);
  under.actions.length = 0;
  await under.audit();
  expect(new Set(under.actions)).toEqual(
    new Set([`ReleaseAddress ${plain.metadata.uid}`, `ReleaseAddress ${replaced.metadata.uid}`]),
  );
  expect(await names()).toEqual(["lives"]);
});

test("a Service of type LoadBalancer again keeps its address, even if a list says otherwise", async () => {
  await under.create("lives");
  const { metadata } = await under.create("back");
  await mark(JSON.stringify({ [metadata.uid]: "2026-03-01T11:00:00.000Z/2026-03-01T11:01:00.000Z" }));
  under.actions.length = 0;
  const { report } = await under.audit({ plain: ["back"] });
  expect(report).toMatchObject({ because: { code: "Present" } });
  expect(under.actions).toEqual([]);
  expect(await names()).toEqual(["lives", "back"]);
});

test("a stop of deletes keeps it, and so does an unreadable one", async () => {
  const uid = await orphaned();
  await under.audit();
  under.later(1);
  under.actions.length = 0;
  for (const stop of ["deletes", "unproven", "writes"] as const) {
    await under.audit({ readStop: async () => stop });
    expect(under.actions).toEqual([]);
  }
  await under.audit();
  expect(under.actions).toEqual([`ReleaseAddress ${uid}`]);
});

test("a mark on an address of a live Service is removed", async () => {
  const { metadata } = await under.create("lives");
  await mark(JSON.stringify({ [metadata.uid]: "2026-03-01T11:00:00.000Z/2026-03-01T12:00:00.000Z" }));
  await under.audit();
  expect((await ledger()).hasMarks).toBe(false);
  expect(await names()).toEqual(["lives"]);
});

test("a recreated Service with the name replaces its predecessor at once", async () => {
  const uid = await orphaned();
  const { metadata } = await under.create("lost");
  expect(metadata.uid).not.toBe(uid);
  expect((await ledger()).entries.map((entry) => [entry.serviceName, entry.uid === uid, entry.ip])).toEqual([
    ["lives", false, "10.0.0.1"],
    ["lost", false, "10.0.0.2"],
  ]);
});

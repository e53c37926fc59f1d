import { createPrivateKey } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createOciCloud } from "#clouds/oci/cloud.ts";
import { OciCloudConfig } from "#clouds/oci/config.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { API_KEY } from "#test/clouds/oci/fake/credentials.ts";
import { buildRefusal, NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import {
  buildCloudConfig,
  type FakeAccount,
  startFakeAccount,
} from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildAnnotations } from "#test/clouds/oci/load-balancers/service.ts";
import { type OrphansUnderTest, startOrphans } from "#test/functions/orphans/orphans-under-test.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const DELETING = { loadBalancers: { deleteOrphaned: true } };
const TAGS = { "serverless-ccm-cluster": "tenant-a" };
const BACK = "ocid1.networksecuritygroup.oc1.phx.back";
const MARK = "serverless-ccm-orphaned";
const KINDS = [
  { kind: "lb", words: "load balancer", said: {} },
  { kind: "nlb", words: "network load balancer", said: { "oci:load-balancer-type": "nlb" } },
] as const;

let cluster: ClusterUnderTest;
let account: FakeAccount;
let under: OrphansUnderTest;
let more: object = {};
beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
  const key = createPrivateKey(API_KEY.pem);
  under = await startOrphans(cluster, () => ({
    config: { ...buildCloudConfig(account, "/etc/oci/key.pem", API_KEY.fingerprint), ...more },
    make({ cloud, name }) {
      let now = 0;
      const sleep = async (delayMs: number) => {
        now += delayMs;
      };
      const world = { clusterName: name, now: () => now, sleep, random: () => 0.5 };
      return createOciCloud(OciCloudConfig.parse(cloud), async () => key, world);
    },
  }));
});
beforeEach(async () => {
  await under.reset();
  account = await startFakeAccount();
  more = {};
  account.nsgs.add({ id: BACK, displayName: "nodes", freeformTags: TAGS });
  under.configure(DELETING);
});
afterEach(() => account.close());
afterAll(() => cluster?.close());

const balancers = () =>
  [account.lb, account.nlb]
    .flatMap((each) => [...each.balancers.values()])
    .filter(({ lifecycleState }) => lifecycleState !== "DELETED");
const groups = () => [...account.nsgs.groups.values()];
const marks = () => [...balancers(), ...groups()].flatMap(({ freeformTags }) => freeformTags?.[MARK] ?? []);
/** Returns all resources by their purpose, with their rules. */
const outline = () => [
  ...balancers().map(({ freeformTags }) => freeformTags["serverless-ccm-service"] ?? "without an owner"),
  ...groups().map(({ freeformTags, displayName, rules }) => {
    return `group of ${freeformTags?.["serverless-ccm-service"] ?? displayName}: ${rules.length}`;
  }),
];
const told = ({ lines }: Awaited<ReturnType<OrphansUnderTest["audit"]>>) =>
  lines
    .filter(({ event }) => event === "OrphanedLoadBalancer")
    .map(({ kind, name, code }) => [kind, name, code]);
/** Runs as many audits as a resource takes to be found, marked and deleted, and one more for its remains. */
async function hour(): Promise<void> {
  for (let minute = 0; minute < 80; minute += 10) {
    await under.audit();
    account.work.finish();
    under.later(10);
  }
}

describe.each(KINDS)("a $words whose Service is gone", ({ kind, words, said }) => {
  const service = {
    metadata: {
      annotations: buildAnnotations({
        ...said,
        "oci:security-rule-management-mode": "NSG",
        "oci:oci-backend-network-security-group": BACK,
      }),
    },
  };
  const lost = async () => {
    const made = await under.create("lost", service);
    await under.lose("lost");
    under.actions.length = 0;
    return made;
  };

  test("is reported, marked, and deleted in its turn with its group and its rules, and nothing else is", async () => {
    await under.create("lives", service);
    const alone = outline();
    await lost();
    const both = outline();
    expect(both).toHaveLength(alone.length + 2);
    expect(told(await under.audit())).toEqual([[words, "lost", "ServiceGone"]]);
    expect(under.actions).toEqual([expect.stringMatching(`${kind}:MarkLoadBalancer`)]);
    account.work.finish();
    under.later(10);
    await under.audit();
    expect(outline()).toEqual(both);
    under.later(10);
    await hour();
    expect(outline()).toEqual(alone);
    expect(marks()).toEqual([]);
    under.actions.length = 0;
    await hour();
    expect(under.actions).toEqual([]);
  });

  test("stays if the operator has not enabled its deletion, and is reported each time", async () => {
    under.configure({});
    await under.create("lives", service);
    await lost();
    const before = outline();
    for (let audits = 0; audits < 3; audits += 1) {
      expect(told(await under.audit())).toEqual([[words, "lost", "ServiceGone"]]);
      under.later(20);
    }
    expect([outline(), under.actions]).toEqual([before, []]);
  });

  test("is deleted one at a time, with any number of actors", async () => {
    await under.create("lives", service);
    for (const name of ["one", "two"]) {
      await under.create(name, service);
      await under.lose(name);
    }
    const left: number[] = [];
    for (let minute = 0; minute <= 50; minute += 10) {
      await under.audit();
      account.work.finish();
      await under.audit();
      account.work.finish();
      left.push(balancers().length);
      under.later(10);
    }
    expect(left).toEqual([3, 3, 2, 1, 1, 1]);
  });

  test("is not deleted until the load balancer of a live Service proves the account", async () => {
    await lost();
    const before = outline();
    expect((await under.audit()).report).toMatchObject({ because: { code: "DeletionUnproven" } });
    await hour();
    expect([outline(), marks()]).toEqual([before, []]);
  });

  test("leaves nothing behind if its deletion is killed between any two steps", async () => {
    await under.create("lives", service);
    const alone = outline();
    for (let steps = 0; steps < 12; steps += 1) {
      await lost();
      await under.audit();
      account.work.finish();
      under.later(20);
      await under.audit({ steps });
      await hour();
      expect(outline(), `after ${steps} steps`).toEqual(alone);
    }
  });

  test("belongs to its Service again after a restore from a backup, and no second one is made", async () => {
    await under.create("lives", service);
    await under.create("lost", service);
    const all = outline();
    const backup = await cluster.plane.backup();
    await under.lose("lost");
    await under.audit();
    account.work.finish();
    expect(marks()).toHaveLength(1);
    await cluster.plane.restore(backup);
    under.later(9);
    under.actions.length = 0;
    // The audit of the Service itself comes before its load balancer's turn, and removes the mark.
    await under.converge("lost", "refresh");
    expect(under.actions).toEqual([expect.stringMatching(`${kind}:MarkLoadBalancer`)]);
    account.work.finish();
    expect(marks()).toEqual([]);
    await hour();
    expect(outline()).toEqual(all);
  });

  test("keeps its other tags, and is marked again if another client has changed it meanwhile", async () => {
    await under.create("lives", service);
    await lost();
    account.oci.fault = ({ method }) => (method === "PUT" ? buildRefusal(412, "NoEtagMatch") : undefined);
    await under.audit();
    expect(marks()).toEqual([]);
    account.oci.fault = undefined;
    await under.audit();
    account.work.finish();
    const [one] = balancers().filter(({ freeformTags }) => freeformTags[MARK] !== undefined);
    expect(one?.freeformTags).toMatchObject({ ...TAGS, "serverless-ccm-service": "default/lost" });
  });
});

test("resources of another cluster, with only one tag, or with another name are neither reported nor touched", async () => {
  await under.create("lives", {
    metadata: { annotations: buildAnnotations({ "oci:security-rule-management-mode": "None" }) },
  });
  const uid = "0f0c3a52-6b1e-4f6e-9c39-0a1b2c3d4e5f";
  const ours = { ...TAGS, "serverless-ccm-service": "default/lost" };
  account.lb.add({ displayName: uid, freeformTags: { ...ours, "serverless-ccm-cluster": "tenant-b" } });
  account.lb.add({ displayName: uid, freeformTags: TAGS });
  account.lb.add({ displayName: "by-hand", freeformTags: ours });
  account.nlb.add({ displayName: `default/lost/${uid}`, freeformTags: {} });
  account.nsgs.add({ displayName: uid, freeformTags: ours });
  account.nsgs.add({ displayName: "theirs", freeformTags: { ...ours, ServiceUid: uid } });
  const before = outline();
  expect(told(await under.audit())).toEqual([]);
  await hour();
  expect([outline(), marks()]).toEqual([before, []]);
});

test("in the configured mode None a load balancer is deleted without the permission to list security groups", async () => {
  more = {
    loadBalancer: { ...buildCloudConfig(account, "", "").loadBalancer, securityListManagementMode: "None" },
  };
  await under.create("lost");
  await under.lose("lost");
  await under.create("lives");
  account.oci.fault = ({ path }) => (/networkSecurityGroups/.test(path) ? NOT_FOUND : undefined);
  await hour();
  expect(outline()).toEqual(["default/lives", "group of nodes: 0"]);
});

test("a load balancer with another prefix in its name is deleted by its actual name", async () => {
  const service = {
    metadata: { annotations: buildAnnotations({ "oci:security-rule-management-mode": "None" }) },
  };
  more = { loadBalancerPrefix: "before" };
  await under.create("lost", service);
  await under.lose("lost");
  more = {};
  await under.create("lives", service);
  await hour();
  expect(outline()).toEqual(["default/lives", "group of nodes: 0"]);
});

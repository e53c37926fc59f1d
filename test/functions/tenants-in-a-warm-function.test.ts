import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { Report } from "#core/report.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import {
  createDeployedDependencies,
  type DeployedDependencies,
} from "#functions/parts/deployed-dependencies.ts";
import { type SeveralAccounts, startSeveralAccounts } from "#test/clouds/aws/several-accounts.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

const REGION = "eu-central-1";
const ZONE = `${REGION}a`;
/** Instances and nodes of these names are there in every cluster. */
const MACHINES = ["ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-3"].map((name, index) => ({
  name: `${name}.${REGION}.compute.internal`,
  address: `10.0.0.${index + 1}`,
  index: index + 1,
}));

/**
 * Two have their own accounts with the same ids; the third shares the first account, with another role and
 * network.
 */
const TENANTS = [
  {
    name: "blue",
    account: "111111111111",
    vpc: "vpc-0aaa",
    instanceType: "m7i.large",
    ids: 1,
    zoneId: "az-1",
  },
  {
    name: "green",
    account: "222222222222",
    vpc: "vpc-0aaa",
    instanceType: "c7g.large",
    ids: 1,
    zoneId: "az-2",
  },
  {
    name: "red",
    account: "111111111111",
    vpc: "vpc-0bbb",
    instanceType: "r8g.large",
    ids: 2,
    zoneId: "az-1",
  },
] as const;
type Tenant = (typeof TENANTS)[number];

const GREEN: Tenant = TENANTS[1];

const roleOf = ({ name, account }: Tenant): string => `arn:aws:iam::${account}:role/${name}`;
const idOf = ({ ids }: Tenant, index: number): string => `i-0000000000000${ids}0${index}`;

describe("a warm function that serves tenants in turn", () => {
  const planes = new Map<string, ClusterUnderTest>();
  let folder: string;
  let aws: SeveralAccounts;
  let world: DeployedDependencies;
  let send: (event: object) => Promise<Report["objects"]>;
  const nodes = new Map<string, Node[]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tenants-"));
    aws = await startSeveralAccounts({
      "111111111111": [{ name: ZONE, id: "az-1" }],
      "222222222222": [{ name: ZONE, id: "az-2" }],
    });
    for (const [name, value] of Object.entries({
      AWS_ACCESS_KEY_ID: "AKIAOWN",
      AWS_SECRET_ACCESS_KEY: "own",
      AWS_REGION: REGION,
      AWS_ENDPOINT_URL_EC2: aws.url,
      AWS_ENDPOINT_URL_STS: aws.url,
    }))
      vi.stubEnv(name, value);
    for (const tenant of TENANTS) {
      const plane = await startCluster((into) => startEmbeddedControlPlane({ folder: into }));
      planes.set(tenant.name, plane);
      const { account, vpc: vpcId, instanceType } = tenant;
      for (const { name, address, index } of MACHINES)
        aws.accounts.get(account)?.addInstance({
          id: idOf(tenant, index),
          vpcId,
          instanceType,
          privateIpAddress: address,
          privateDnsName: name,
          availabilityZone: ZONE,
        });
      nodes.set(tenant.name, await Promise.all(MACHINES.map(({ name }) => plane.join({ name }))));
    }
    const entries = TENANTS.map((tenant) => {
      const { name, vpc } = tenant;
      const cloud = { provider: "aws", region: REGION, vpc, roleArn: roleOf(tenant) } as const;
      return buildClusterEntry(planeOf(name).plane, { name, cloud, controllers: [nodeController.name] });
    });
    await writeClustersFile(join(folder, "clusters.yaml"), ...entries);
    world = createDeployedDependencies("node", { CLUSTERS_FILE: join(folder, "clusters.yaml") });
    const { clusters, cloud, api, now } = world;
    const invoked = createControllerFunction(nodeController, { clusters, cloud, api, now });
    let events = 0;
    send = async (event) => {
      events += 1;
      const whole = {
        version: 1,
        id: `event-${events}`,
        controller: nodeController.name,
        reason: "watch",
        ...event,
      };
      const platform = { awsRequestId: `${events}`, getRemainingTimeInMillis: () => 20_000 };
      return Report.parse(await invoked(JSON.parse(JSON.stringify(whole)), platform)).objects;
    };
  });
  afterAll(async () => {
    for (const { name } of TENANTS) {
      const cluster = await world?.clusters(name);
      if (cluster === undefined) continue;
      await (await world.api(cluster)).close();
      await (await world.cloud(cluster)).close();
      await planes.get(name)?.close();
    }
    vi.unstubAllEnvs();
    await aws?.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe("an event that names another's cluster", () => {
    /** Who made it knows what a node of that cluster looks like, and has one of its own. */
    const FORGED: readonly {
      what: string;
      hashOf: string;
      object: (own: Node) => unknown;
      says: object;
    }[] = [
      {
        what: "with the hash of one's own",
        hashOf: "blue",
        object: (own) => own,
        says: { outcome: "retry", because: { code: "ClusterConfigurationDiffers" } },
      },
      {
        what: "about one's own node",
        hashOf: "green",
        object: (own) => own,
        says: { outcome: "skipped", because: { code: "Replaced" } },
      },
      {
        what: "about a node that it has not",
        hashOf: "green",
        object: (own) => ({ ...own, metadata: { ...own.metadata, name: "made-up" } }),
        says: { outcome: "retry", because: { code: "InstanceNotFound" } },
      },
    ];
    test.each(FORGED)("$what changes nothing there, and is reported", async ({ hashOf, object, says }) => {
      const before = await planeOf("green").read(MACHINES[0]?.name ?? "");
      const [own] = nodes.get("blue") ?? [];
      if (own === undefined) throw new Error("blue has no node");
      const clusterHash = (await world.clusters(hashOf))?.hash;
      const [reported] = await send({ cluster: "green", clusterHash, objects: [object(own)] });
      expect(reported).toMatchObject(says);
      expect(await planeOf("green").read(MACHINES[0]?.name ?? "")).toEqual(before);
    });

    test("and says that a node of it is another machine: it becomes what its API server says", async () => {
      const [name, cluster] = [MACHINES[0]?.name ?? "", await world.clusters("green")];
      const node = await planeOf("green").read(name);
      const forged = { ...node, spec: { ...node.spec, providerID: `aws:///${ZONE}/${idOf(GREEN, 2)}` } };
      await send({ cluster: "green", clusterHash: cluster?.hash, objects: [forged] });
      expect((await planeOf("green").read(name)).spec.providerID).toBe(`aws:///${ZONE}/${idOf(GREEN, 1)}`);
    });
  });

  test("answers each with its own machines, whichever tenant was served before", async () => {
    for (let round = 0; round < MACHINES.length; round += 1)
      await Promise.all(
        TENANTS.map(async ({ name }) => {
          const hash = (await world.clusters(name))?.hash;
          const object = await planeOf(name).read(MACHINES[round]?.name ?? "");
          const [reported] = await send({ cluster: name, clusterHash: hash, objects: [object] });
          expect(reported, name).toMatchObject({ name: MACHINES[round]?.name });
        }),
      );
    for (const tenant of TENANTS)
      for (const { name, index } of MACHINES) {
        const node = await planeOf(tenant.name).read(name);
        expect(isUninitialized(node)).toBe(false);
        expect(node.spec.providerID).toBe(`aws:///${ZONE}/${idOf(tenant, index)}`);
        expect(node.metadata.labels).toMatchObject({
          "node.kubernetes.io/instance-type": tenant.instanceType,
          "topology.k8s.aws/zone-id": tenant.zoneId,
        });
        expect(node.metadata.annotations?.[INSTANCE_ANNOTATION]).toBe(
          `${tenant.account}/${tenant.vpc}/${idOf(tenant, index)}`,
        );
      }
  });

  test("has signed in to each with its own credentials, and used each account's role", async () => {
    expect(aws.strangers()).toBe(0);
    for (const tenant of TENANTS) {
      const ec2 = aws.accounts.get(tenant.account);
      const asked = ec2?.record().filter(({ action }) => action !== "AssumeRole") ?? [];
      expect(asked.filter(({ code }) => code !== "OK")).toEqual([]);
      expect(new Set(asked.map(({ roleArn }) => roleArn))).toEqual(
        new Set(TENANTS.filter(({ account }) => account === tenant.account).map(roleOf)),
      );
      // One session for each: no session is shared.
      const sessions = ec2?.assumedRoles().filter(({ roleArn }) => roleArn === roleOf(tenant));
      expect(sessions).toMatchObject([{ roleSessionName: `serverless-ccm-${tenant.name}` }]);
      const records = await planeOf(tenant.name).plane.record();
      expect(new Set(records.map(({ user }) => user))).toEqual(new Set(["admin", "serverless-ccm-node"]));
      expect(records.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    }
  });

  test("keeps one connection and one cloud for each, and shares none", async () => {
    const clusters = await Promise.all(TENANTS.map(({ name }) => world.clusters(name)));
    for (const kept of [world.api, world.cloud]) {
      const all = await Promise.all(clusters.flatMap((cluster) => (cluster ? [kept(cluster)] : [])));
      expect(new Set<unknown>(all).size).toBe(TENANTS.length);
    }
  });

  function planeOf(name: string): ClusterUnderTest {
    const plane = planes.get(name);
    if (plane === undefined) throw new Error(`there is no cluster ${name}`);
    return plane;
  }
});

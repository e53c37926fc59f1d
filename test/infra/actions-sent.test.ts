import {
  AllocateAddressCommand,
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  CreateSecurityGroupCommand,
  DeleteTagsCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionPolicy } from "#clouds/aws/session-policy.ts";
import { TAG, TAGS, type TagsQuestion, UNTAG } from "#core/tagging/model.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type AwsHttpWorld, awsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { enforceSession } from "#test/clouds/aws/iam/enforce.ts";
import { deployedStatements, type Session } from "#test/clouds/aws/iam/simulate.ts";
import { type AwsWorld, awsWorld, CLUSTER_TAG } from "#test/clouds/aws/load-balancer-world.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import {
  type Authorization,
  type MendedMoto,
  startMendedMoto,
} from "#test/clouds/aws/moto/start-mended-moto.ts";
import { type RoutesUnderTest, startRoutes } from "#test/functions/routes/routes-under-test.ts";
import { CHECKED_WITHOUT_A_CALL, grantedTo, permissionOf } from "#test/infra/iam-roles.ts";
import { OPERATIONS, type Operation } from "#test/killing/aws/operations.ts";
import { annotated, DUAL_STACK, NLB, serviceOf } from "#test/killing/aws/services.ts";
import { madeOn } from "#test/killing/operation.ts";
import { arrange, play } from "#test/killing/play.ts";
import { type Stage, startStage } from "#test/killing/stage.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// What roles grant is compared with what arrives at AWS, as far as moto is AWS.

const TIMEOUT_MS = 180_000;

describeWithPart("moto", "the function service", (program) => {
  let stage: Stage<AwsWorld>;
  beforeAll(async () => {
    stage = await startStage(() => awsWorld(program));
  });
  afterAll(() => stage?.close());

  test(
    "sends each action that its role grants, and no other, in sessions that are narrowed to its cluster",
    async () => {
      const sent = new Set<string>();
      const { moto } = stage.world;
      const session = await narrowedSession(stage.world);
      const enforced = enforceSession(session, moto);
      let authorization: Authorization | undefined = enforced.authorization;
      const watched: Stage<AwsWorld> = {
        ...stage,
        async invoke(options) {
          moto.forgetCalls();
          moto.setAuthorization(authorization);
          const invoked = await stage.invoke(options);
          moto.setAuthorization(undefined);
          for (const { name } of moto.calls()) sent.add(permissionOf(name));
          return invoked;
        },
      };
      for (const operation of [...OPERATIONS.filter(isNeeded), ...OTHERS]) {
        await stage.clear();
        await arrange(watched, operation);
        const { problems } = await play(watched, operation, { kind: "none" });
        expect([operation.name, problems]).toEqual([operation.name, []]);
        await stage.objects.delete();
        await watched.invoke({ cloud: madeOn(stage, operation.cloud ?? {}) });
        moto.forgetCalls();
        await stage.tidy(madeOn(stage, operation.cloud ?? {}));
        for (const { name } of moto.calls()) sent.add(permissionOf(name));
      }
      expect(enforced.refused()).toEqual([]);
      expect(enforced.allowed()).toBeGreaterThan(100);
      await stage.clear();
      // Proven by its interfaces, which no policy can say: strict sessions are for groups that are tagged or listed.
      authorization = undefined;
      await untagNodeGroup(stage.world);
      const [first] = OPERATIONS.filter(isNeeded);
      if (first !== undefined) await arrange(watched, first);
      await stage.objects.delete();
      await watched.invoke({ cloud: stage.world.cloud });
      expect([...sent, ...CHECKED_WITHOUT_A_CALL].toSorted()).toEqual(await grantedTo("ServiceFunctionRole"));
    },
    TIMEOUT_MS,
  );
});

describeWithPart("moto", "the function route", (program) => {
  let cluster: ClusterUnderTest;
  let under: RoutesUnderTest;
  beforeAll(async () => {
    cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
    under = await startRoutes(cluster, program);
  });
  afterAll(async () => {
    await under?.close();
    await cluster?.close();
  });

  test("sends each action that its role grants, and no other", async () => {
    const { aws, moto } = under;
    const sent = new Set<string>();
    const invoke = async (how?: Parameters<RoutesUnderTest["invoke"]>[0]) => {
      moto.forgetCalls();
      const { report } = await under.invoke(how);
      for (const { name } of moto.calls()) sent.add(name);
      return report?.objects.flatMap(({ candidates = [] }) => candidates) ?? [];
    };
    await under.join("a", ["100.64.0.0/24"]);
    const InstanceId = await under.join("b", ["100.64.1.0/24"]);
    const { NetworkInterface } = await aws.ec2.send(
      new CreateNetworkInterfaceCommand({ SubnetId: under.network.subnets[0] }),
    );
    const NetworkInterfaceId = NetworkInterface?.NetworkInterfaceId;
    await aws.ec2.send(new AttachNetworkInterfaceCommand({ InstanceId, NetworkInterfaceId, DeviceIndex: 1 }));
    await under.join("c", ["100.64.2.0/24"]);
    await invoke();
    await aws.ec2.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId] }));
    await under.removeNode("b");
    await under.join("b", ["100.64.1.0/24"]);
    await under.removeNode("c");
    // A route goes at its second sight.
    const candidates = await invoke();
    await invoke({ candidates: candidates.map((id) => ({ id, seconds: 20 })) });
    expect([...sent].toSorted()).toEqual(await grantedTo("RouteFunctionRole"));
  });
});

describeWithPart("moto", "the function tagging", (program) => {
  let moto: MendedMoto;
  let world: AwsHttpWorld;
  beforeAll(async () => {
    moto = await startMendedMoto(program);
    world = await awsHttpWorld(moto.url, IMAGE_ID);
  });
  afterAll(async () => {
    await world?.close();
    await moto?.close();
  });

  test("sends each action that its role grants, and no other", async () => {
    const { tags } = world.cloud.capabilities ?? {};
    const { id } = await world.addInstance();
    const call = { signal: new AbortController().signal, share: 1 };
    moto.forgetCalls();
    await tags?.observe([{ ids: [id], mark: "mark" } satisfies TagsQuestion], call);
    for (const action of [TAG, UNTAG]) {
      const parameters = { ids: [id], tags: { team: "a" } };
      const precondition = { uid: "cluster", deleting: false };
      await tags?.act({ on: "cloud", capability: TAGS, action, target: id, parameters, precondition }, call);
    }
    expect(Object.keys(moto.counts()).toSorted()).toEqual(await grantedTo("TaggingFunctionRole"));
  });
});

/** Leaves the interfaces of the nodes' security group as the only proof of whose it is. */
async function untagNodeGroup({ aws, network }: AwsWorld): Promise<void> {
  const Tags = [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}` }];
  await aws.ec2.send(new DeleteTagsCommand({ Resources: [network.nodeGroup], Tags }));
}

/** A load balancer is made before each of these, and deleted after it. */
/** The role of the deployment, and a strict policy for the cluster that is played. */
async function narrowedSession({ network }: AwsWorld): Promise<Session> {
  const policy = sessionPolicy(
    {
      vpc: network.vpc,
      clusterTag: CLUSTER_TAG,
      legacyClusterTag: false,
      sessionPolicy: "strict",
      allow: {},
    },
    "service",
  );
  return { statements: await deployedStatements("ServiceFunctionRole"), policy };
}

function isNeeded({ name }: Operation): boolean {
  return /: other/.test(name);
}

const CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/";
const MANAGED = { nlbSecurityGroupMode: "Managed" };
const CERTIFICATES = { allow: { certificates: [`${CERTIFICATE}*`] } };
const TLS = {
  "ssl-ports": "443",
  "ssl-cert": `${CERTIFICATE}1`,
  "ssl-negotiation-policy": "ELBSecurityPolicy-2016-08",
};
const OTHER_TLS = {
  "ssl-cert": `${CERTIFICATE}2`,
  "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
};

/** What the operations above leave out, as it is rare. */
const OTHERS: readonly Operation[] = [
  {
    name: "NLB: subnets",
    before: ({ world: { network } }) => [serviceOf({ ...NLB, subnets: network.subnets[0] })],
    change: ({ objects, world: { network } }) =>
      objects.merge(annotated({ subnets: network.subnets.join(",") })),
  },
  changed("NLB: health check", serviceOf(NLB), { "healthcheck-healthy-threshold": "5" }),
  changed(
    "NLB: tags",
    serviceOf({ ...NLB, "additional-resource-tags": "a=b" }),
    { "additional-resource-tags": null },
    MANAGED,
  ),
  groups("NLB: groups", NLB, MANAGED),
  {
    name: "NLB: families",
    before: [serviceOf(NLB)],
    change: ({ objects }) => objects.merge({ spec: DUAL_STACK }),
  },
  {
    name: "NLB: Elastic IP addresses",
    async change({ objects, world: { aws, network } }) {
      const Tags = [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}`, Value: "shared" }];
      const allocate = new AllocateAddressCommand({
        Domain: "vpc",
        TagSpecifications: [{ ResourceType: "elastic-ip", Tags }],
      });
      const { AllocationId } = await aws.ec2.send(allocate);
      const annotations = { ...NLB, subnets: `${network.subnets[0]}`, "eip-allocations": `${AllocationId}` };
      await objects.create(serviceOf(annotations));
    },
  },
  {
    name: "CLB: subnets",
    before: ({ world: { network } }) => [serviceOf({ subnets: network.subnets[0] })],
    change: ({ objects, world: { network } }) =>
      objects.merge(annotated({ subnets: `${network.subnets[1]}` })),
  },
  groups("CLB: groups", {}),
  changed("CLB: TLS", serviceOf(TLS), OTHER_TLS, CERTIFICATES),
];

function changed(
  name: string,
  before: object,
  after: Readonly<Record<string, string | null>>,
  cloud: NonNullable<Operation["cloud"]> = {},
): Operation {
  return { name, cloud, before: [before], change: ({ objects }) => objects.merge(annotated(after)) };
}

/** The nodes' group on the load balancer, and then one that is the cluster's, too. */
function groups(
  name: string,
  annotations: Readonly<Record<string, string>>,
  cloud: NonNullable<Operation["cloud"]> = {},
): Operation {
  return {
    name,
    cloud,
    before: ({ world: { network } }) => [serviceOf({ ...annotations, "security-groups": network.nodeGroup })],
    async change({ objects, world: { aws, network } }) {
      const Tags = [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}`, Value: "shared" }];
      const made = await aws.ec2.send(
        new CreateSecurityGroupCommand({
          GroupName: "front",
          Description: "front",
          VpcId: network.vpc,
          TagSpecifications: [{ ResourceType: "security-group", Tags }],
        }),
      );
      await objects.merge(annotated({ "security-groups": `${made.GroupId}` }));
    },
  };
}

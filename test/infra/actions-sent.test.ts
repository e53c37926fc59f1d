import {
  AllocateAddressCommand,
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  CreateSecurityGroupCommand,
  DeleteTagsCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildSessionPolicy } from "#clouds/aws/session-policy.ts";
import { TAG, TAGS, type TagsQuestion, UNTAG } from "#core/node-tags.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type AwsHttpWorld, createAwsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { enforceSession } from "#test/clouds/aws/iam/enforce.ts";
import { readDeployedStatements, type Session } from "#test/clouds/aws/iam/simulate.ts";
import { type AwsWorld, CLUSTER_TAG, createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import {
  type Authorization,
  type MendedMoto,
  startMendedMoto,
} from "#test/clouds/aws/moto/start-mended-moto.ts";
import { OPERATIONS, type Operation } from "#test/crash-consistency/aws/operations.ts";
import {
  buildAnnotationsPatch,
  buildService,
  DUAL_STACK,
  NLB,
} from "#test/crash-consistency/aws/services.ts";
import { buildOnStage } from "#test/crash-consistency/operation.ts";
import { arrange, play } from "#test/crash-consistency/play.ts";
import { type Stage, startStage } from "#test/crash-consistency/stage.ts";
import { type RoutesUnderTest, startRoutes } from "#test/functions/routes/routes-under-test.ts";
import { CHECKED_WITHOUT_A_CALL, getPermission, listGrantedActions } from "#test/infra/iam-roles.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// Compares the rights of roles with the requests that arrive at AWS, as far as moto emulates it.

const TIMEOUT_MS = 180_000;

describeWithPart("moto", "the function service", (program) => {
  let stage: Stage<AwsWorld>;
  beforeAll(async () => {
    stage = await startStage(() => createAwsWorld(program));
  });
  afterAll(() => stage?.close());

  test(
    "sends exactly the actions that its role grants, in sessions restricted to its cluster",
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
          for (const { name } of moto.calls()) sent.add(getPermission(name));
          return invoked;
        },
      };
      for (const operation of [...OPERATIONS.filter(isNeeded), ...OTHERS]) {
        await stage.clear();
        await arrange(watched, operation);
        const { issues } = await play(watched, operation, { kind: "none" });
        expect([operation.name, issues]).toEqual([operation.name, []]);
        await stage.objects.delete();
        await watched.invoke({ cloud: buildOnStage(stage, operation.cloud ?? {}) });
        moto.forgetCalls();
        await stage.tidy(buildOnStage(stage, operation.cloud ?? {}));
        for (const { name } of moto.calls()) sent.add(getPermission(name));
      }
      expect(enforced.refused()).toEqual([]);
      expect(enforced.allowed()).toBeGreaterThan(100);
      await stage.clear();
      // Policies cannot verify ownership by interfaces, so strict sessions need tagged or listed groups.
      authorization = undefined;
      await untagNodeGroup(stage.world);
      const [first] = OPERATIONS.filter(isNeeded);
      if (first !== undefined) await arrange(watched, first);
      await stage.objects.delete();
      await watched.invoke({ cloud: stage.world.cloud });
      expect([...sent, ...CHECKED_WITHOUT_A_CALL].toSorted()).toEqual(
        await listGrantedActions("ServiceFunctionRole"),
      );
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

  test("sends exactly the actions that its role grants", async () => {
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
    // A route is deleted when it is seen for the second time.
    const candidates = await invoke();
    await invoke({ candidates: candidates.map((id) => ({ id, seconds: 20 })) });
    expect([...sent].toSorted()).toEqual(await listGrantedActions("RouteFunctionRole"));
  });
});

describeWithPart("moto", "the function tagging", (program) => {
  let moto: MendedMoto;
  let world: AwsHttpWorld;
  beforeAll(async () => {
    moto = await startMendedMoto(program);
    world = await createAwsHttpWorld(moto.url, IMAGE_ID);
  });
  afterAll(async () => {
    await world?.close();
    await moto?.close();
  });

  test("sends exactly the actions that its role grants", async () => {
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
    expect(Object.keys(moto.counts()).toSorted()).toEqual(await listGrantedActions("TaggingFunctionRole"));
  });
});

/** Leaves the interfaces of the nodes' security group as the only proof of its ownership. */
async function untagNodeGroup({ aws, network }: AwsWorld): Promise<void> {
  const Tags = [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}` }];
  await aws.ec2.send(new DeleteTagsCommand({ Resources: [network.nodeGroup], Tags }));
}

/** Each of these runs on a new load balancer, which is deleted afterwards. */
/** The deployment's role with a strict policy for the cluster under test. */
async function narrowedSession({ network }: AwsWorld): Promise<Session> {
  const policy = buildSessionPolicy(
    {
      vpc: network.vpc,
      clusterTag: CLUSTER_TAG,
      legacyClusterTag: false,
      sessionPolicy: "strict",
      allow: {},
    },
    "load-balancers",
  );
  return { statements: await readDeployedStatements("ServiceFunctionRole"), policy };
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

/** Rare operations that are not in the list above. */
const OTHERS: readonly Operation[] = [
  {
    name: "NLB: subnets",
    before: ({ world: { network } }) => [buildService({ ...NLB, subnets: network.subnets[0] })],
    change: ({ objects, world: { network } }) =>
      objects.merge(buildAnnotationsPatch({ subnets: network.subnets.join(",") })),
  },
  changed("NLB: health check", buildService(NLB), { "healthcheck-healthy-threshold": "5" }),
  changed(
    "NLB: tags",
    buildService({ ...NLB, "additional-resource-tags": "a=b" }),
    { "additional-resource-tags": null },
    MANAGED,
  ),
  groups("NLB: groups", NLB, MANAGED),
  {
    name: "NLB: families",
    before: [buildService(NLB)],
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
      await objects.create(buildService(annotations));
    },
  },
  {
    name: "CLB: subnets",
    before: ({ world: { network } }) => [buildService({ subnets: network.subnets[0] })],
    change: ({ objects, world: { network } }) =>
      objects.merge(buildAnnotationsPatch({ subnets: `${network.subnets[1]}` })),
  },
  groups("CLB: groups", {}),
  changed("CLB: TLS", buildService(TLS), OTHER_TLS, CERTIFICATES),
];

function changed(
  name: string,
  before: object,
  after: Readonly<Record<string, string | null>>,
  cloud: NonNullable<Operation["cloud"]> = {},
): Operation {
  return {
    name,
    cloud,
    before: [before],
    change: ({ objects }) => objects.merge(buildAnnotationsPatch(after)),
  };
}

/** The nodes' group on the load balancer, followed by another group of the cluster. */
function groups(
  name: string,
  annotations: Readonly<Record<string, string>>,
  cloud: NonNullable<Operation["cloud"]> = {},
): Operation {
  return {
    name,
    cloud,
    before: ({ world: { network } }) => [
      buildService({ ...annotations, "security-groups": network.nodeGroup }),
    ],
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
      await objects.merge(buildAnnotationsPatch({ "security-groups": `${made.GroupId}` }));
    },
  };
}

import {
  AttachNetworkInterfaceCommand,
  CreateNetworkInterfaceCommand,
  CreateSecurityGroupCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TAG, TAGS, type TagsQuestion, UNTAG } from "#core/tagging/model.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type AwsHttpWorld, awsHttpWorld } from "#test/clouds/aws/http-world.ts";
import { IMAGE_ID } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import { type RoutesUnderTest, startRoutes } from "#test/functions/routes/routes-under-test.ts";
import { CHECKED_WITHOUT_A_CALL, grantedTo, permissionOf } from "#test/infra/iam-roles.ts";
import { KINDS, type Operation, operationsOf, serviceOf } from "#test/killing/operations.ts";
import { clear, play } from "#test/killing/play.ts";
import { CLUSTER_TAG, type Stage, startStage } from "#test/killing/stage.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

// What roles grant is compared with what arrives at AWS, as far as moto is AWS.

const TIMEOUT_MS = 180_000;

describeWithPart("moto", "the function service", (program) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(program);
  });
  afterAll(() => stage?.close());

  test(
    "sends each action that its role grants, and no other",
    async () => {
      const sent = new Set<string>();
      const watched: Stage = {
        ...stage,
        async invoke(options) {
          stage.moto.forgetCalls();
          const invoked = await stage.invoke(options);
          for (const { name } of stage.moto.calls()) sent.add(permissionOf(name));
          return invoked;
        },
      };
      for (const operation of [...KINDS.flatMap(operationsOf).filter(isNeeded), ...(await others(stage))]) {
        const { problems } = await play(watched, operation, { kind: "none" });
        expect([operation.name, problems]).toEqual([operation.name, []]);
        await clear(watched, operation);
      }
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
    const invoke = async () => {
      moto.forgetCalls();
      await under.invoke();
      for (const { name } of moto.calls()) sent.add(name);
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
    await invoke();
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

/** A load balancer is made before each of these, and deleted after it. */
function isNeeded({ name }: Operation): boolean {
  return /: other/.test(name);
}

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";
const CERTIFICATE = "arn:aws:iam::123456789012:server-certificate/";
const NLB = { type: "nlb" };

/** What the operations above leave out, as it is rare. */
async function others({ aws, network }: Stage): Promise<readonly Operation[]> {
  const { GroupId: group = "" } = await aws.ec2.send(
    new CreateSecurityGroupCommand({
      GroupName: "front",
      Description: "front",
      VpcId: network.vpc,
      TagSpecifications: [
        {
          ResourceType: "security-group",
          Tags: [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}`, Value: "shared" }],
        },
      ],
    }),
  );
  const [one, both] = [network.subnets[0], network.subnets.join(",")];
  const managed = { nlbSecurityGroupMode: "Managed" };
  const certificates = { allow: { certificates: [`${CERTIFICATE}*`] } };
  const tls = {
    "ssl-ports": "443",
    "ssl-cert": `${CERTIFICATE}1`,
    "ssl-negotiation-policy": "ELBSecurityPolicy-2016-08",
  };
  const otherTls = {
    "ssl-cert": `${CERTIFICATE}2`,
    "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
  };
  return [
    changed("NLB: subnets", {}, { ...NLB, subnets: one }, { subnets: both }),
    changed("NLB: health check", {}, NLB, { "healthcheck-healthy-threshold": "5" }),
    changed(
      "NLB: tags",
      managed,
      { ...NLB, "additional-resource-tags": "a=b" },
      { "additional-resource-tags": null },
    ),
    changed(
      "NLB: groups",
      managed,
      { ...NLB, "security-groups": network.nodeGroup },
      { "security-groups": group },
    ),
    {
      name: "NLB: families",
      before: serviceOf(annotated(NLB)),
      change: ({ objects }) =>
        objects.merge({ spec: { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] } }),
    },
    changed("CLB: subnets", {}, { subnets: one }, { subnets: network.subnets[1] }),
    changed("CLB: groups", {}, { "security-groups": network.nodeGroup }, { "security-groups": group }),
    changed("CLB: TLS", certificates, tls, otherTls),
  ];
}

function changed(
  name: string,
  cloud: NonNullable<Operation["cloud"]>,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string | null>>,
): Operation {
  return {
    name,
    cloud,
    before: serviceOf(annotated(before)),
    change: ({ objects }) => objects.merge({ metadata: { annotations: annotated(after) } }),
  };
}

function annotated<Value>(by: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(by).map(([suffix, value]) => [`${PREFIX}${suffix}`, value]));
}

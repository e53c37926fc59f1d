import {
  AuthorizeSecurityGroupIngressCommand,
  CreateSecurityGroupCommand,
  CreateTagsCommand,
  DeleteTagsCommand,
} from "@aws-sdk/client-ec2";
import { CreateLoadBalancerCommand as CreateClassicCommand } from "@aws-sdk/client-elastic-load-balancing";
import { CreateLoadBalancerCommand } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import type { Ingress } from "#core/service/service.ts";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Call, formatCallName } from "#test/clouds/aws/moto/call.ts";
import { type Clients, createClients, REGION } from "#test/clouds/aws/moto/clients.ts";
import { isChange } from "#test/clouds/aws/moto/failures.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import {
  type Admission,
  type MendedMoto,
  type Point,
  startMendedMoto,
} from "#test/clouds/aws/moto/start-mended-moto.ts";
import type {
  LoadBalancerWorld,
  NamedService,
  ServiceTraits,
  Verdict,
} from "#test/clouds/load-balancer-world.ts";
import { makeForeignThings } from "#test/crash-consistency/aws/foreign.ts";
import { buildAnnotations, NLB } from "#test/crash-consistency/aws/services.ts";
import { type AwsState, readAwsOutline, readAwsState } from "#test/crash-consistency/aws/state.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** An AWS account that also holds resources of others. */
export interface AwsWorld extends LoadBalancerWorld {
  readonly moto: MendedMoto;
  readonly aws: Clients;
  readonly network: Network;
  /** The ARN of a certificate. */
  readonly certificate: string;
  /** A security group of the operator, without the cluster's tag. */
  readonly operatorsGroup: string;
}

/** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
export const CLUSTER_TAG = "killing";

/** The memory is cleared when it holds so many states of the account. */
const MAX_STATES = 500;

/** The kind of load balancer that Services request, and what a test changes in place. */
const KINDS = {
  network: {
    base: NLB,
    others: { "cross-zone-load-balancing-enabled": "true", "healthcheck-interval": "10" },
  },
  classic: {
    base: {},
    others: { "connection-draining-enabled": "true", "healthcheck-interval": "20", "proxy-protocol": "*" },
  },
} as const;

/** Creates the account on moto. The SDK finds it by the environment, so a process has only one world. */
export async function createAwsWorld(
  program: MotoProgram,
  kind: keyof typeof KINDS = "network",
): Promise<AwsWorld> {
  const { base, others } = KINDS[kind];
  const moto = await startMendedMoto(program, { hasPoints: true });
  const aws = createClients(moto.url);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: moto.url,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_REGION: REGION,
  });
  const network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER_TAG });
  const instances = await network.launch(4);
  await giveAway(aws, instances.at(-1) ?? "");
  await makeForeignThings(aws, network, instances.at(-1) ?? "");
  const made = new CreateSecurityGroupCommand({
    GroupName: "operators",
    Description: "operators",
    VpcId: network.vpc,
  });
  const operatorsGroup = (await aws.ec2.send(made)).GroupId ?? "";
  // Nodes allow it in already and keep doing so: several load balancers share it.
  await aws.ec2.send(
    new AuthorizeSecurityGroupIngressCommand({
      GroupId: network.nodeGroup,
      IpPermissions: [{ IpProtocol: "-1", UserIdGroupPairs: [{ GroupId: operatorsGroup }] }],
    }),
  );
  const certificate = await requestCertificate(moto.motoUrl);
  const ids = {
    [network.vpc]: "<vpc>",
    [network.routeTable]: "<route table>",
    ...Object.fromEntries(network.subnets.map((id, index) => [id, `<subnet ${index}>`])),
    ...Object.fromEntries(instances.map((id, index) => [id, `<instance ${index}>`])),
    ...Object.fromEntries(network.gateways.map((id) => [id, "<gateway>"])),
  };
  const states = new Map<string, AwsState>();

  /** Returns the remembered state if nothing has changed since it was read. */
  async function remembered(about: string, read: () => Promise<AwsState>): Promise<AwsState> {
    const key = `${about} ${moto.history()}`;
    const known = states.get(key) ?? (await read());
    if (states.size >= MAX_STATES) states.clear();
    states.set(key, known);
    return known;
  }
  const unguarded = (): void => {
    moto.setGate(undefined);
    moto.hideNew(0);
  };
  const point = (): Promise<Point> => moto.point();

  return {
    moto,
    aws,
    network,
    certificate,
    operatorsGroup,
    cloud: { provider: "aws", region: REGION, vpc: network.vpc, clusterTag: CLUSTER_TAG },
    otherCluster: { clusterName: "tenant-b", cloud: { clusterTag: "tenant-b" } },
    model: awsLoadBalancerModel,
    connect: createAwsWithoutWaits,
    nodes: instances.map((name) => ({ name, providerID: `aws:///${REGION}a/${name}` })),
    service: traits(base),
    otherSettings: traits(others),
    internal: traits({ internal: "true" }),
    refused: [
      {
        title: "an annotation with an impossible value",
        code: "InvalidAnnotation",
        ...traits({ "healthcheck-interval": "soon" }),
      },
      {
        title: "a certificate that the operator does not allow",
        code: "CertificateNotUsable",
        ...traits({ "ssl-cert": certificate, "ssl-ports": "443" }),
      },
      {
        title: "a subnet without an owner",
        code: "SubnetNotFound",
        ...traits({ subnets: "subnet-0123456789abcdef0" }),
      },
    ],
    // The parts of each Service are described one by one: AWS cannot list the listeners or targets of
    // several.
    requestsFor: (services) => 10 + 8 * services,
    setGate: (gate) =>
      moto.setGate(
        gate && {
          enter: (call) => admissionOf(gate.enter(requestOf(call)), call),
          leave: (call) => gate.leave(requestOf(call)),
        },
      ),
    // Nothing in moto takes time.
    advance: async () => undefined,
    outline: async (services) => {
      unguarded();
      const names = Object.assign({}, ...services.map(namesOf));
      return remembered(Object.keys(names).join(), () =>
        readAwsState(aws, network.vpc, { ...ids, ...names }),
      );
    },
    pieces: async () => {
      unguarded();
      const all = await remembered("pieces", () => readAwsOutline(aws, network.vpc));
      return all.filter((thing) => !isOfCluster(thing));
    },
    isShared: (thing) => thing.includes('"GroupName":"nodes"'),
    addressOf: ({ hostname }: Ingress, { name, uid }: NamedService) =>
      `${hostname}`
        .replaceAll(bareName(uid), `<load balancer of ${name}>`)
        .replace(/-[0-9a-f]{16}\.|-\d+\./, "-<hash>."),
    point,
    takeName: async ({ uid }) => {
      const Tags = [{ Key: "kubernetes.io/cluster/other", Value: "owned" }];
      const Subnets = [network.subnets[0]];
      if (kind === "network") {
        const Name = bareName(uid);
        await aws.elbv2.send(new CreateLoadBalancerCommand({ Name, Type: "network", Subnets, Tags }));
        return;
      }
      const Listeners = [
        { Protocol: "TCP", LoadBalancerPort: 80, InstanceProtocol: "TCP", InstancePort: 30_080 },
      ];
      const LoadBalancerName = bareName(uid);
      await aws.elb.send(new CreateClassicCommand({ LoadBalancerName, Listeners, Subnets, Tags }));
    },
    // The capability does not check an action's parameters; AWS does.
    expectInvalidRequests: () =>
      expectViolations(
        ...(kind === "network"
          ? ["tags unknown", "name unknown", "LoadBalancerArn required"].map(
              (each) => `elbv2:DeleteLoadBalancer request ${each}`,
            )
          : ["tags unknown", "name unknown"].map((each) => `ec2:RevokeSecurityGroupIngress request ${each}`)),
      ),
    hideNew: moto.hideNew,
    close: async () => {
      aws.close();
      await moto.close();
    },
  };
}

function traits(annotations: Readonly<Record<string, string>>): ServiceTraits {
  return { annotations: buildAnnotations(annotations) };
}

function requestOf(call: Call): { readonly what: string; readonly isChange: boolean } {
  return { what: formatCallName(call), isChange: isChange(call) };
}

function admissionOf(verdict: Verdict, { service }: Call): Admission {
  switch (verdict) {
    case "pass":
      return true;
    case "reset":
      return false;
    case "stalled":
      return "stalled";
    case "Throttled":
      return { kind: "throttle" };
    case "Denied":
      return {
        kind: "refuse",
        code: service === "ec2" ? "UnauthorizedOperation" : "AccessDenied",
        status: 403,
      };
    case "Unavailable":
      return { kind: "refuse", code: "InternalError", status: 500 };
  }
}

/** The group that all load balancers of a cluster share stays with the cluster. */
function isOfCluster(thing: string): boolean {
  return (
    thing.startsWith("security group k8s-backend-") || thing.includes("serverless-ccm.io/rule/nlb/backend")
  );
}

/** Returns what each Service's uid becomes in names, with a replacement that is the same in all runs. */
function namesOf({ name, uid }: NamedService): Readonly<Record<string, string>> {
  return { [bareName(uid)]: `<load balancer of ${name}>`, [uid]: `<uid of ${name}>` };
}

function bareName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** A raw request, because the packages include no ACM client. */
async function requestCertificate(motoUrl: string): Promise<string> {
  const answer = await fetch(motoUrl, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": "CertificateManager.RequestCertificate",
      authorization: `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/acm/aws4_request, SignedHeaders=host, Signature=none`,
    },
    body: JSON.stringify({ DomainName: "web.example.com" }),
  });
  const { CertificateArn } = (await answer.json()) as { readonly CertificateArn?: string };
  if (CertificateArn === undefined) throw new Error(`moto made no certificate: ${answer.status}`);
  return CertificateArn;
}

/** Gives the instance to another cluster, in the VPC and the security group of the nodes. */
async function giveAway({ ec2 }: Clients, id: string): Promise<void> {
  const Resources = [id];
  await ec2.send(
    new DeleteTagsCommand({ Resources, Tags: [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}` }] }),
  );
  const Tags = [{ Key: "kubernetes.io/cluster/foreign", Value: "owned" }];
  await ec2.send(new CreateTagsCommand({ Resources, Tags }));
}

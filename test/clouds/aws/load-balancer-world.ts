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
import { awsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Call, nameOf } from "#test/clouds/aws/moto/call.ts";
import { type Clients, clientsOf, REGION } from "#test/clouds/aws/moto/clients.ts";
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
import { makeForeignThings } from "#test/killing/aws/foreign.ts";
import { annotationsOf, NLB } from "#test/killing/aws/services.ts";
import { type AwsState, readAwsOutline, readAwsState } from "#test/killing/aws/state.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** An AWS account with foreign things in it. */
export interface AwsWorld extends LoadBalancerWorld {
  readonly moto: MendedMoto;
  readonly aws: Clients;
  readonly network: Network;
  /** The ARN of a certificate. */
  readonly certificate: string;
  /** A security group that is an operator's, and not tagged as the cluster's. */
  readonly operatorsGroup: string;
}

/** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
export const CLUSTER_TAG = "killing";

/** Of so many states of the account the memory of them begins anew. */
const MAX_STATES = 500;

/** Which kind of load balancer Services ask for, and what is changed of it in place. */
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

/** Makes it on moto; the SDK finds the account by the environment, so one process has one world. */
export async function awsWorld(
  program: MotoProgram,
  kind: keyof typeof KINDS = "network",
): Promise<AwsWorld> {
  const { base, others } = KINDS[kind];
  const moto = await startMendedMoto(program, { hasPoints: true });
  const aws = clientsOf(moto.url);
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
  // Nodes let it in already, and go on to: it is of several load balancers.
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

  /** The same again where nothing has changed since it was read. */
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
    connect: awsWithoutWaits,
    nodes: instances.map((name) => ({ name, providerID: `aws:///${REGION}a/${name}` })),
    service: traits(base),
    otherSettings: traits(others),
    internal: traits({ internal: "true" }),
    refused: [
      {
        title: "an annotation that says what none may",
        code: "InvalidAnnotation",
        ...traits({ "healthcheck-interval": "soon" }),
      },
      {
        title: "a certificate that the operator does not allow",
        code: "CertificateNotUsable",
        ...traits({ "ssl-cert": certificate, "ssl-ports": "443" }),
      },
      {
        title: "a subnet of nobody",
        code: "SubnetNotFound",
        ...traits({ subnets: "subnet-0123456789abcdef0" }),
      },
    ],
    // What each has of its own is described one by one: AWS has no list of listeners or targets of several.
    requestsFor: (services) => 10 + 8 * services,
    setGate: (gate) =>
      moto.setGate(
        gate && {
          enter: (call) => admissionOf(gate.enter(requestOf(call))),
          leave: (call) => gate.leave(requestOf(call)),
        },
      ),
    // Nothing of moto's takes a while.
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
    hideNew: moto.hideNew,
    close: async () => {
      aws.close();
      await moto.close();
    },
  };
}

function traits(annotations: Readonly<Record<string, string>>): ServiceTraits {
  return { annotations: annotationsOf(annotations) };
}

function requestOf(call: Call): { readonly what: string; readonly isChange: boolean } {
  return { what: nameOf(call), isChange: isChange(call) };
}

function admissionOf(verdict: Verdict): Admission {
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
      return { kind: "refuse", code: "UnauthorizedOperation", status: 403 };
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

/** What stands for a Service's uid in names, and what is the same for each in its place. */
function namesOf({ name, uid }: NamedService): Readonly<Record<string, string>> {
  return { [bareName(uid)]: `<load balancer of ${name}>`, [uid]: `<uid of ${name}>` };
}

function bareName(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, 32);
}

/** By hand, as no client of ACM is among our packages. */
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

/** The instance is another cluster's from now on, in the VPC and the security group of the nodes. */
async function giveAway({ ec2 }: Clients, id: string): Promise<void> {
  const Resources = [id];
  await ec2.send(
    new DeleteTagsCommand({ Resources, Tags: [{ Key: `kubernetes.io/cluster/${CLUSTER_TAG}` }] }),
  );
  const Tags = [{ Key: "kubernetes.io/cluster/somebody", Value: "owned" }];
  await ec2.send(new CreateTagsCommand({ Resources, Tags }));
}

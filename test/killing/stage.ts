import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AuthorizeSecurityGroupIngressCommand, CreateSecurityGroupCommand } from "@aws-sdk/client-ec2";
import { Cluster } from "#config/cluster.ts";
import type { EventReason } from "#core/event.ts";
import type { ObjectReport } from "#core/report.ts";
import type { Service } from "#core/service/service.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import { serviceController } from "#functions/parts/service-controller.ts";
import { connect } from "#kube/client/connect.ts";
import { access } from "#test/access.ts";
import { awsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type Clients, clientsOf, REGION } from "#test/clouds/aws/moto/clients.ts";
import { makeNetwork, type Network } from "#test/clouds/aws/moto/make-network.ts";
import { type MendedMoto, type Point, startMendedMoto } from "#test/clouds/aws/moto/start-mended-moto.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import { type AwsState, readAwsOutline, readAwsState } from "./aws-state.ts";
import { type ClusterObjects, clusterObjects } from "./cluster.ts";
import { makeForeignThings } from "./foreign.ts";
import { createLifeline, type Lifeline } from "./lifeline.ts";
import { OPERATORS_GROUP } from "./operation.ts";

/** An API server and an AWS account, with foreign things in it, on which functions live and die. */
export interface Stage {
  readonly moto: MendedMoto;
  readonly aws: Clients;
  readonly objects: ClusterObjects;
  /** Instances that can be nodes; the last one is no node of the cluster. */
  readonly instances: readonly string[];
  readonly network: Network;
  /** The ARN of a certificate. */
  readonly certificate: string;
  /** Invokes the function as a new process, in the cluster with these settings of its cloud. */
  invoke(options?: InvokeOptions): Promise<Invoked>;
  /** So much later the function is invoked from now on, by its own clock. */
  wait(seconds: number): void;
  /** The account, named after the Service that is there or was last. */
  state(service: Service): Promise<AwsState>;
  /** What is to be the same before a Service comes and after it is gone. */
  outline(): Promise<AwsState>;
  /** What there is now in the account and on the API server, to go back to; undefined where the API server does not take that. */
  readonly point: (() => Promise<StagePoint>) | undefined;
  /** Back to the account with what is foreign alone, and no Service. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** What there was at one time. */
export interface StagePoint {
  /** Back to it, until there is an earlier one to which one goes back. */
  back(): Promise<void>;
}

/** A control plane, and whether it can be set back to what it was in no time. */
export interface StagePlane {
  readonly plane: ControlPlane;
  readonly hasPoints: boolean;
}

export interface InvokeOptions {
  readonly lifeline?: Lifeline;
  readonly reason?: EventReason;
  /** Keys of the cluster's `cloud:`. */
  readonly cloud?: Readonly<Record<string, unknown>>;
}

/** What an invocation came to; without a report where the process was killed, or the Service is gone. */
export interface Invoked {
  readonly report: ObjectReport | undefined;
  readonly lines: readonly LogLine[];
}

/** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
export const CLUSTER_TAG = "killing";

const REMAINING_MS = 60_000;

/** Of so many states of the account the memory of them begins anew. */
const MAX_STATES = 500;

async function startEmbedded(folder: string): Promise<StagePlane> {
  return { plane: await startEmbeddedControlPlane({ folder }), hasPoints: true };
}

/** A real kube-apiserver with the rights and the admission policies of infra/. */
export function onKubeApiserver(binaries: ControlPlaneBinaries): (folder: string) => Promise<StagePlane> {
  return async (folder) => {
    const plane = await startKubeApiserver({ folder, binaries });
    for (const path of ["rbac/service-lb-controller", "admission"])
      await plane.apply(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)));
    return { plane, hasPoints: false };
  };
}

/** Starts both; the SDK finds the account by the environment, so one process has one stage. */
export async function startStage(program: MotoProgram, startPlane = startEmbedded): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "killing-"));
  const { plane, hasPoints } = await startPlane(folder);
  const admin = connect(await access(plane, "admin"));
  const functions = connect(await access(plane, "service"));
  const moto = await startMendedMoto(program, { hasPoints: true });
  const aws = clientsOf(moto.url);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: moto.url,
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    AWS_REGION: REGION,
  });
  const objects = clusterObjects(admin, `${REGION}a`);
  let network: Network;
  let instances: string[] = [];
  let events = 0;
  let waitedMs = 0;
  let operatorsGroup = "";
  let certificate = "";
  const states = new Map<string, AwsState>();

  async function build(): Promise<Point> {
    await moto.reset();
    network = await makeNetwork(aws.ec2, { clusterTag: CLUSTER_TAG });
    instances = await network.launch(4);
    await makeForeignThings(aws, network, instances.at(-1) ?? "");
    const VpcId = network.vpc;
    const made = new CreateSecurityGroupCommand({ GroupName: "operators", Description: "operators", VpcId });
    operatorsGroup = (await aws.ec2.send(made)).GroupId ?? "";
    // Nodes let it in already, and go on to: it is of several load balancers.
    await aws.ec2.send(
      new AuthorizeSecurityGroupIngressCommand({
        GroupId: network.nodeGroup,
        IpPermissions: [{ IpProtocol: "-1", UserIdGroupPairs: [{ GroupId: operatorsGroup }] }],
      }),
    );
    certificate = await requestCertificate(moto.motoUrl);
    return moto.point();
  }

  /** The same again where nothing has changed since it was read. */
  async function remembered(about: string, read: () => Promise<AwsState>): Promise<AwsState> {
    const key = `${about} ${moto.history()}`;
    const known = states.get(key) ?? (await read());
    if (states.size >= MAX_STATES) states.clear();
    states.set(key, known);
    return known;
  }

  async function invoke({
    lifeline = createLifeline(),
    reason = "watch",
    cloud = {},
  }: InvokeOptions = {}): Promise<Invoked> {
    const service = await objects.read();
    if (service === undefined) return { report: undefined, lines: [] };
    const cluster = Cluster.parse({
      name: "tenant-a",
      server: plane.server,
      cloud: {
        provider: "aws",
        region: REGION,
        vpc: network.vpc,
        clusterTag: CLUSTER_TAG,
        ...cloud,
        ...(cloud["elbSecurityGroup"] === OPERATORS_GROUP ? { elbSecurityGroup: operatorsGroup } : {}),
      },
    });
    const lines: LogLine[] = [];
    moto.setGate(lifeline.gate);
    const made = awsWithoutWaits(cluster);
    try {
      const run = controllerFunction(serviceController, {
        clusters: async () => cluster,
        cloud: async () => made,
        api: async () => lifeline.transport(functions),
        now: () => new Date(Date.now() + waitedMs),
        log: (line) => lines.push(line),
      });
      events += 1;
      const event = {
        version: 1,
        id: `event-${events}`,
        cluster: cluster.name,
        clusterHash: cluster.hash,
        controller: serviceController.name,
        reason,
        objects: [service],
        budget: { share: 1 },
        related: await objects.related(),
      };
      const report = await run(JSON.parse(JSON.stringify(event)), {
        awsRequestId: event.id,
        getRemainingTimeInMillis: () => REMAINING_MS,
      });
      return { report: lifeline.isKilled() ? undefined : report.objects[0], lines };
    } catch (error) {
      if (lifeline.isKilled()) return { report: undefined, lines };
      throw error;
    } finally {
      await made.close();
    }
  }

  const built = await build();
  return {
    moto,
    aws,
    objects,
    get network() {
      return network;
    },
    get instances() {
      return instances;
    },
    get certificate() {
      return certificate;
    },
    invoke,
    wait: (seconds) => {
      waitedMs += seconds * 1_000;
    },
    state: async (service) => {
      moto.setGate(undefined);
      moto.hideNew(0);
      const ids = {
        [network.vpc]: "<vpc>",
        [network.routeTable]: "<route table>",
        ...Object.fromEntries(network.subnets.map((id, index) => [id, `<subnet ${index}>`])),
        ...Object.fromEntries(instances.map((id, index) => [id, `<instance ${index}>`])),
        ...Object.fromEntries(network.gateways.map((id) => [id, "<gateway>"])),
      };
      return remembered(service.metadata.uid, () =>
        readAwsState(aws, network.vpc, { ...ids, ...namesOf(service) }),
      );
    },
    outline: async () => {
      moto.setGate(undefined);
      moto.hideNew(0);
      return remembered("outline", () => readAwsOutline(aws, network.vpc));
    },
    point: hasPoints
      ? async () => {
          const [account, backup] = await Promise.all([moto.point(), plane.backup()]);
          const then = waitedMs;
          return {
            back: async () => {
              waitedMs = then;
              await Promise.all([account.back(), plane.restore(backup)]);
            },
          };
        }
      : undefined,
    clear: async () => {
      await objects.expunge();
      await built.back();
      waitedMs = 0;
    },
    close: async () => {
      aws.close();
      await Promise.all([admin.close(), functions.close()]);
      await Promise.all([moto.close(), plane.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What stands for a Service's uid in names, and what is the same for each in its place. */
function namesOf({ metadata: { uid } }: Service): Readonly<Record<string, string>> {
  const bare = uid.replaceAll("-", "");
  return { [`a${bare}`.slice(0, 32)]: "<load balancer>", [uid]: "<uid>" };
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

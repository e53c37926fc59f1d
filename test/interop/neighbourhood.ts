import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import type { ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type NeighbourKubelet, startKubelet } from "#test/interop/neighbour-kubelet.ts";
import type { NeighbourPrograms } from "#test/interop/programs.ts";
import { type SigningAuthority, writeSigningAuthority } from "#test/interop/signing-authority.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { type NakedNodeWitness, witnessNakedNodes } from "#test/witness/naked-nodes.ts";

/**
 * A complete tenant cluster: API server, controller manager, kubelets with their own identities, and our
 * controllers.
 */
export interface Neighbourhood {
  readonly plane: KubeApiserver;
  readonly cluster: ClusterUnderTest;
  readonly ec2: Ec2Server;
  readonly history: NodeHistory;
  readonly naked: NakedNodeWitness;
  readonly authority: SigningAuthority;
  readonly controllerManager: ManagedProcess;
  /** The kubelets, by node name. */
  readonly kubelets: Map<string, NeighbourKubelet>;
  /** Launches an instance with the nth addresses of the network, and starts its kubelet. */
  join(n: number, nodeIP: string | undefined): Promise<NeighbourKubelet>;
  /** Starts `serverless-ccm run` with the identities of infra/rbac. */
  run(): Promise<Running>;
  /** Sends a request as administrator; rejects on a status of 300 or more. */
  ask(request: ApiRequest): Promise<unknown>;
  readonly admin: Transport;
  close(): Promise<void>;
}

/** Every kubelet registers this taint in addition to the cloud's, and the network agent removes it. */
export const STARTUP_TAINT = { key: "cni.example.com/agent-not-ready", effect: "NoSchedule" } as const;

/**
 * kube-controller-manager's grace period for a kubelet, and the duration of a kubelet's lease; both shorter
 * than usual.
 */
const GRACE_SECONDS = 20;

const HERE = fileURLToPath(new URL(".", import.meta.url));
const MANIFESTS = [
  "../../infra/rbac",
  "../../infra/state",
  "../../infra/rbac/csr-approver",
  "access.yaml",
].map((path) => join(HERE, path));

const CONTROLLERS = [
  "node-lifecycle-controller",
  "taint-eviction-controller",
  "certificatesigningrequest-approving-controller",
  "certificatesigningrequest-signing-controller",
  "certificatesigningrequest-cleaner-controller",
];

const USERS: readonly ControlPlaneUser[] = [
  { name: "kubelet-bootstrap", groups: ["system:bootstrappers"] },
  { name: "system:kube-controller-manager", groups: [] },
];

/** Starts all parts except kubelets and our controllers. The caller closes it. */
export async function startNeighbourhood(
  programs: NeighbourPrograms & ControlPlaneBinaries,
  folder: string,
): Promise<Neighbourhood> {
  const authority = await writeSigningAuthority(folder);
  const ec2 = await startEc2({ behaviour: { latencyMs: 60 } });
  const started: { plane?: KubeApiserver } = {};
  const cluster = await startCluster(async (planeFolder) => {
    started.plane = await startKubeApiserver({
      folder: planeFolder,
      binaries: programs,
      users: USERS,
      manifests: MANIFESTS,
      flags: [
        `--client-ca-file=${authority.certificateFile}`,
        "--authorization-mode=Node",
        "--enable-admission-plugins=NodeRestriction",
      ],
    });
    return started.plane;
  });
  const { plane } = started;
  if (plane === undefined) throw new Error("the control plane was not started");
  // The admission policies restrict our own writes; they are optional for operators.
  await plane.apply(join(HERE, "../../infra/admission"));
  const admin = await cluster.transport("admin");
  const naked = await witnessNakedNodes(plane, admin);
  const history = await recordNodeHistory(admin);
  const cloudConfig = join(folder, "cloud.yaml");
  await writeFile(
    cloudConfig,
    `region: ${ec2.region}\nvpc: ${DEFAULT_VPC_ID}\nnodeIPFamilies: [ipv4, ipv6]\n`,
  );
  const accessOf = async (user: string): Promise<string> => {
    const file = join(folder, `${user.replaceAll(":", "-")}.kubeconfig`);
    const { server, certificateAuthorityFile } = plane;
    const entry = { cluster: "tenant", server, certificateAuthorityFile };
    await writeKubeconfig(file, { ...entry, user, tokenFile: plane.tokenFileOf(user) });
    return file;
  };
  const controllerManager = startProcess(
    programs.kubeControllerManager,
    [
      `--kubeconfig=${await accessOf("system:kube-controller-manager")}`,
      "--leader-elect=false",
      "--secure-port=0",
      "--use-service-account-credentials=true",
      `--controllers=${CONTROLLERS.join(",")}`,
      `--cluster-signing-cert-file=${authority.certificateFile}`,
      `--cluster-signing-key-file=${authority.keyFile}`,
      "--node-monitor-period=2s",
      `--node-monitor-grace-period=${GRACE_SECONDS}s`,
    ],
    { logFile: join(folder, "kube-controller-manager.log") },
  );
  const bootstrapKubeconfig = await accessOf("kubelet-bootstrap");
  const kubelets = new Map<string, NeighbourKubelet>();
  const programsOfOurs: Running[] = [];

  return {
    plane,
    cluster,
    ec2,
    history,
    naked,
    authority,
    controllerManager,
    kubelets,
    admin,
    ask: (request) => askForJson(admin, request),
    join: async (n, nodeIP) => {
      const [ipv4, ipv6] = [`10.77.0.${n}`, `fd77::${n}`];
      const instance = ec2.addInstance({ index: n, privateIpAddress: ipv4, ipv6Addresses: [ipv6] });
      const kubeletFolder = join(folder, instance.privateDnsName);
      await mkdir(kubeletFolder, { recursive: true });
      const kubelet = startKubelet({
        program: programs.kubelet,
        folder: kubeletFolder,
        instance,
        ipv4,
        ipv6,
        nodeIP,
        bootstrapKubeconfig,
        clientCAFile: authority.certificateFile,
        taint: STARTUP_TAINT,
        leaseSeconds: GRACE_SECONDS,
      });
      kubelets.set(kubelet.name, kubelet);
      return kubelet;
    },
    run: async () => {
      const flags = ["run", "--cloud-provider", "aws", "--cloud-config", cloudConfig, "--port", "0"];
      flags.push(...(await buildIdentityFlags(plane)), "--controllers", "*,csr-approver");
      const running = startProgram(flags, {
        AWS_REGION: ec2.region,
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_ENDPOINT_URL_EC2: ec2.url,
      });
      programsOfOurs.push(running);
      return running;
    },
    close: async () => {
      await Promise.all([...kubelets.values()].map((kubelet) => kubelet.kill()));
      await Promise.all(programsOfOurs.map((running) => running.end("SIGKILL")));
      await controllerManager.stop("SIGKILL");
      await history.close();
      await cluster.close();
      await ec2.close();
    },
  };
}

/** Reads the programs that main.ts built. */
export function readPrograms(): NeighbourPrograms & ControlPlaneBinaries {
  const text = process.env["NEIGHBOURS_PROGRAMS"];
  if (text === undefined) throw new Error("this suite runs in a network of its own: npm run test:interop");
  return JSON.parse(text);
}

/** Returns the end of a log, to explain a failure. */
export async function readLogEnd(file: string): Promise<string> {
  return (await readFile(file, "utf8").catch(() => "")).slice(-3_000);
}

import { join } from "node:path";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";

/** A kubelet on an instance. It keeps its folder, and so its certificates, across restarts. */
export interface NeighbourKubelet {
  /** The node's name. */
  readonly name: string;
  readonly instance: Ec2Instance;
  readonly ipv4: string;
  readonly ipv6: string;
  /** The value of --node-ip. */
  readonly nodeIP: string | undefined;
  readonly logFile: string;
  readonly certificateFolder: string;
  /** Returns the current process. */
  process(): ManagedProcess;
  kill(): Promise<void>;
  start(): void;
}

export interface NeighbourKubeletOptions {
  readonly program: string;
  /** Holds all files of this kubelet; must exist. */
  readonly folder: string;
  readonly instance: Ec2Instance;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly nodeIP: string | undefined;
  readonly bootstrapKubeconfig: string;
  readonly clientCAFile: string;
  /** A taint that it registers in addition to the cloud's. */
  readonly taint: { readonly key: string; readonly effect: string };
  readonly leaseSeconds: number;
}

/** Starts the kubelet of an instance on the instance's own address. */
export function startKubelet(options: NeighbourKubeletOptions): NeighbourKubelet {
  const { folder, instance, ipv4, ipv6, nodeIP, taint } = options;
  const name = instance.privateDnsName;
  const certificateFolder = join(folder, "pki");
  const logFile = join(folder, "kubelet.log");
  const flags = [
    `--hostname-override=${name}`,
    `--provider-id=aws:///${instance.availabilityZone}/${instance.id}`,
    // With only an IPv6 --node-ip, it serves only on that address.
    `--address=${nodeIP === ipv6 ? ipv6 : ipv4}`,
    `--bootstrap-kubeconfig=${options.bootstrapKubeconfig}`,
    `--kubeconfig=${join(folder, "kubeconfig")}`,
    `--cert-dir=${certificateFolder}`,
    `--client-ca-file=${options.clientCAFile}`,
    `--register-with-taints=${taint.key}=:${taint.effect}`,
    `--node-lease-duration-seconds=${options.leaseSeconds}`,
    ...(nodeIP === undefined ? [] : [`--node-ip=${nodeIP}`]),
    "--v=2",
  ];
  // kubemark creates its folders where temporary files go.
  const environment = { ...process.env, TMPDIR: folder, GOMAXPROCS: "1" };
  const start = (): ManagedProcess => startProcess(options.program, flags, { environment, logFile });
  let running = start();
  return {
    name,
    instance,
    ipv4,
    ipv6,
    nodeIP,
    logFile,
    certificateFolder,
    process: () => running,
    kill: () => running.stop("SIGKILL"),
    start: () => {
      if (running.hasExited()) running = start();
    },
  };
}

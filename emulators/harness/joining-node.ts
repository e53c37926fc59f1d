/** How a joining node differs from the usual one. */
export interface JoiningNodeOptions {
  readonly name: string;
  readonly providerID?: string;
  /** The value of kubelet's --node-ip: one address, or a dual-stack pair separated by a comma. */
  readonly nodeIP?: string;
  /** Taints of others, such as a CNI's; they stand before ours, as the order of a list must not matter. */
  readonly taints?: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * The Node object that a kubelet with --cloud-provider=external registers: tainted, labelled with what the machine
 * knows of itself, not ready yet, and with no address but its hostname (and --node-ip where one is given).
 */
export function joiningNode(options: JoiningNodeOptions): JoiningNode {
  const nodeIPs = options.nodeIP?.split(",") ?? [];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: options.name,
      labels: {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": options.name,
        "kubernetes.io/os": "linux",
        ...options.labels,
      },
      annotations: {
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        ...(options.nodeIP === undefined ? {} : { "alpha.kubernetes.io/provided-node-ip": options.nodeIP }),
      },
    },
    spec: {
      ...(options.providerID === undefined ? {} : { providerID: options.providerID }),
      taints: [
        ...(options.taints ?? []),
        { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
      ],
    },
    status: {
      addresses: [
        ...nodeIPs.map((address) => ({ type: "InternalIP", address })),
        { type: "Hostname", address: options.name },
      ],
      capacity: { cpu: "4", memory: "16073356Ki", pods: "110" },
      allocatable: { cpu: "3920m", memory: "15358604Ki", pods: "110" },
      conditions: [
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "False", "KubeletNotReady"),
      ],
      nodeInfo: {
        machineID: "",
        systemUUID: "",
        bootID: "",
        kernelVersion: "6.12.0",
        osImage: "Linux",
        containerRuntimeVersion: "containerd://2.1.4",
        kubeletVersion: "v1.36.3",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
    },
  };
}

/** What of the Node object callers touch; the rest is what a kubelet says. */
export interface JoiningNode {
  readonly apiVersion: "v1";
  readonly kind: "Node";
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly providerID?: string;
    readonly taints: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly [field: string]: unknown;
  };
}

function condition(type: string, status: string, reason: string): Record<string, string> {
  return { type, status, reason };
}

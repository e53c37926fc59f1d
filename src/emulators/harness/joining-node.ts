/** How a joining node differs from the default one. */
export interface JoiningNodeOptions {
  readonly name: string;
  readonly providerID?: string;
  /** The value of kubelet's --node-ip: one address, or a dual-stack pair separated by a comma. */
  readonly nodeIP?: string;
  /** Taints of others, such as a CNI's; they precede ours, as the order of a list must not matter. */
  readonly taints?: readonly { readonly key: string; readonly effect: string; readonly value?: string }[];
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Builds the Node object that a kubelet with --cloud-provider=external registers. It is tainted, labelled
 * with the machine's own facts, not ready, and without addresses except its hostname (and --node-ip if
 * given).
 */
export function buildJoiningNode(options: JoiningNodeOptions): JoiningNode {
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
        buildCondition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        buildCondition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        buildCondition("PIDPressure", "False", "KubeletHasSufficientPID"),
        buildCondition("Ready", "False", "KubeletNotReady"),
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

/** The fields of the Node object that callers change; the kubelet sets the rest. */
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

function buildCondition(type: string, status: string, reason: string): Record<string, string> {
  return { type, status, reason };
}

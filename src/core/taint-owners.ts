import { SHUTDOWN_TAINT, TO_BE_DELETED_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";

/** The owner of a taint: who removes it, or who can say why it stays. */
export interface TaintOwner {
  /** `ours` are the two taints of the cloud-controller-manager. */
  readonly kind: "ours" | "others" | "unknown";
  readonly owner: string;
  /** The cause of the taint, as the end of a sentence that begins with the taint. */
  readonly means: string;
  /** What removes the taint. */
  readonly remedy: string;
}

/** Returns the owner of the taint with this key; components match taints by key alone. */
export function findTaintOwner(key: string): TaintOwner {
  const exact = Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined;
  if (exact !== undefined) return exact;
  return BY_PATTERN.find(([pattern]) => pattern.test(key))?.[1] ?? UNKNOWN;
}

const NODE_CONTROLLER = "kube-controller-manager";
const AUTOSCALER = "cluster-autoscaler";

/** A taint that mirrors a condition reported by the kubelet. */
function createConditionOwner(means: string, remedy: string): TaintOwner {
  return { kind: "others", owner: `the kubelet, by ${NODE_CONTROLLER}`, means, remedy };
}

function createOtherOwner(owner: string, means: string, remedy: string): TaintOwner {
  return { kind: "others", owner, means, remedy };
}

/** An agent removes its own taint as soon as it runs on the node. */
function createAgentOwner(owner: string): TaintOwner {
  return createOtherOwner(
    owner,
    "its agent does not run on the node yet",
    `see whether the agent's pod starts on the node: kubectl get pods --all-namespaces --field-selector spec.nodeName=NODE`,
  );
}

/** A taint that was configured at the node's creation, and that stays. */
function createManualOwner(owner: string, means: string): TaintOwner {
  return createOtherOwner(owner, means, "none, as long as that is meant: pods that belong there tolerate it");
}

const PRESSURE = "free it, or move pods away; the kubelet reports when it is over";
const CAPI_REMEDY =
  "see the Machine of the node in the management cluster: Cluster API takes it off once it has reached the node";

const BY_KEY: Readonly<Record<string, TaintOwner>> = {
  [UNINITIALIZED_TAINT]: {
    kind: "ours",
    owner: "serverless-ccm",
    means: "the kubelet registered with --cloud-provider=external and waits for its instance's addresses",
    remedy: "the cloud-node-controller takes it off; what keeps it from that stands below",
  },
  [SHUTDOWN_TAINT.key]: {
    kind: "ours",
    owner: "serverless-ccm",
    means: "the node's instance is stopped",
    remedy: "start the instance: the taint goes when the node is Ready again",
  },
  [TO_BE_DELETED_TAINT]: createOtherOwner(
    AUTOSCALER,
    "it is about to remove the node",
    "none: it deletes the instance, or takes the taint off where that fails",
  ),
  DeletionCandidateOfClusterAutoscaler: createOtherOwner(
    AUTOSCALER,
    "the node has been of little use and may be removed soon",
    "none: it takes the taint off when the node is needed",
  ),
  "node.kubernetes.io/not-ready": createConditionOwner(
    "the node is not Ready",
    "see the Ready condition in kubectl describe node: most often the network plugin is not running yet",
  ),
  "node.kubernetes.io/unreachable": createConditionOwner(
    "the kubelet has not reported for longer than its grace",
    "see whether the machine runs and reaches the API server",
  ),
  "node.kubernetes.io/network-unavailable": createConditionOwner(
    "the condition NetworkUnavailable says that the node's network is not set up",
    "check the component that sets up routes or the network plugin; serverless-ccm does not do it",
  ),
  "node.kubernetes.io/memory-pressure": createConditionOwner("the node is short of memory", PRESSURE),
  "node.kubernetes.io/disk-pressure": createConditionOwner("the node is short of disk", PRESSURE),
  "node.kubernetes.io/pid-pressure": createConditionOwner("the node is short of process ids", PRESSURE),
  "node.kubernetes.io/unschedulable": createOtherOwner(
    NODE_CONTROLLER,
    "the node was cordoned",
    "kubectl uncordon NODE",
  ),
  "node.kubernetes.io/out-of-service": createOtherOwner(
    "an administrator",
    "the node was declared out of service so that its pods may be moved by force",
    "take it off by hand once the machine is back",
  ),
  "node.cilium.io/agent-not-ready": createAgentOwner("Cilium"),
  "cni.istio.io/not-ready": createAgentOwner("Istio"),
  "karpenter.sh/unregistered": createOtherOwner(
    "Karpenter",
    "its NodeClaim is not registered yet",
    "see the NodeClaim: Karpenter takes it off once the node's provider ID is that of its instance",
  ),
  "karpenter.sh/disrupted": createOtherOwner(
    "Karpenter",
    "it is about to replace or remove the node",
    "none: see the NodeClaim's events for why",
  ),
  "karpenter.sh/disruption": createOtherOwner(
    "Karpenter",
    "it is about to replace or remove the node",
    "none: see the NodeClaim's events for why",
  ),
  "node.cluster.x-k8s.io/uninitialized": createOtherOwner(
    "Cluster API",
    "it has not set the Machine's labels on the node yet",
    CAPI_REMEDY,
  ),
  "node.cluster.x-k8s.io/outdated-revision": createOtherOwner(
    "Cluster API",
    "the node's Machine is of an older revision than its MachineDeployment",
    "none: the node is about to be replaced",
  ),
  "node-role.kubernetes.io/control-plane": createManualOwner(
    "who set up the node",
    "it is a control plane's",
  ),
  "node-role.kubernetes.io/master": createManualOwner("who set up the node", "it is a control plane's"),
  "eks.amazonaws.com/compute-type": createManualOwner("Amazon EKS", "the node is a Fargate pod's own"),
  "nvidia.com/gpu": createManualOwner(
    "who set up the node, for NVIDIA GPUs",
    "it is kept for pods that use them",
  ),
  "amd.com/gpu": createManualOwner("who set up the node, for AMD GPUs", "it is kept for pods that use them"),
  "aws.amazon.com/neuron": createManualOwner(
    "who set up the node, for AWS Neuron",
    "it is kept for pods that use it",
  ),
};

const BY_PATTERN: readonly (readonly [RegExp, TaintOwner])[] = [
  [
    /^aws-node-termination-handler\//,
    createOtherOwner(
      "the AWS node termination handler",
      "AWS has announced that the instance will end, or be worked on",
      "none: its pods are moved; the instance goes with what was announced",
    ),
  ],
  [/\.csi\.aws\.com\/agent-not-ready$/, createAgentOwner("an AWS CSI driver")],
  [
    /^(eks|node|vpc)\.(amazonaws|aws)\.com\/|^node\.k8s\.aws\//,
    createOtherOwner("AWS", "a component of AWS's set it", "see the documentation of that component"),
  ],
  [
    /^(startup-taint|ignore-taint|status-taint)\.cluster-autoscaler\.kubernetes\.io\//,
    createOtherOwner(
      "who set up the node",
      "something has to happen on the node before pods may come; the cluster autoscaler ignores this taint",
      "find the component that should remove it",
    ),
  ],
  [
    /^(nvidia|amd|gpu\.intel|habana)\.(com|ai)\//,
    createOtherOwner(
      "a GPU operator or driver",
      "GPUs are being set up or kept apart",
      "see the operator's pods on the node",
    ),
  ],
  [/\/agent-not-ready$/, createAgentOwner("the agent that the key names")],
];

const UNKNOWN: TaintOwner = {
  kind: "unknown",
  owner: "unknown",
  means: "no component known to serverless-ccm adds it",
  remedy: "ask who set up the node; its managedFields name who wrote the taints last",
};

import { SHUTDOWN_TAINT, TO_BE_DELETED_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";

/** Whose a taint is: who takes it off again, or whom to ask why it stays. */
export interface TaintOwner {
  /** `ours` are the two that the cloud-controller-manager is responsible for. */
  readonly kind: "ours" | "others" | "unknown";
  readonly owner: string;
  /** Why it is there, as the end of a sentence that begins with the taint. */
  readonly means: string;
  /** What takes it away. */
  readonly remedy: string;
}

/** Whose the taint of this key is, by the key alone, which is all that anybody goes by. */
export function ownerOf(key: string): TaintOwner {
  const exact = Object.hasOwn(BY_KEY, key) ? BY_KEY[key] : undefined;
  if (exact !== undefined) return exact;
  return BY_PATTERN.find(([pattern]) => pattern.test(key))?.[1] ?? UNKNOWN;
}

const NODE_CONTROLLER = "kube-controller-manager";
const AUTOSCALER = "cluster-autoscaler";

/** A taint that mirrors a condition which the kubelet reports. */
function condition(means: string, remedy: string): TaintOwner {
  return { kind: "others", owner: `the kubelet, by ${NODE_CONTROLLER}`, means, remedy };
}

function others(owner: string, means: string, remedy: string): TaintOwner {
  return { kind: "others", owner, means, remedy };
}

/** An agent takes its taint off by itself as soon as it runs on the node. */
function agent(owner: string): TaintOwner {
  return others(
    owner,
    "its agent does not run on the node yet",
    `see whether the agent's pod starts on the node: kubectl get pods --all-namespaces --field-selector spec.nodeName=NODE`,
  );
}

/** Somebody said so when the node was made, and it is to stay. */
function wanted(owner: string, means: string): TaintOwner {
  return others(owner, means, "none, as long as that is meant: pods that belong there tolerate it");
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
  [TO_BE_DELETED_TAINT]: others(
    AUTOSCALER,
    "it is about to remove the node",
    "none: it deletes the instance, or takes the taint off where that fails",
  ),
  DeletionCandidateOfClusterAutoscaler: others(
    AUTOSCALER,
    "the node has been of little use and may be removed soon",
    "none: it takes the taint off when the node is needed",
  ),
  "node.kubernetes.io/not-ready": condition(
    "the node is not Ready",
    "see the Ready condition in kubectl describe node: most often the network plugin is not there yet",
  ),
  "node.kubernetes.io/unreachable": condition(
    "the kubelet has not reported for longer than its grace",
    "see whether the machine runs and reaches the API server",
  ),
  "node.kubernetes.io/network-unavailable": condition(
    "the condition NetworkUnavailable says that the node's network is not set up",
    "see whoever sets up routes or the network plugin; serverless-ccm does not",
  ),
  "node.kubernetes.io/memory-pressure": condition("the node is short of memory", PRESSURE),
  "node.kubernetes.io/disk-pressure": condition("the node is short of disk", PRESSURE),
  "node.kubernetes.io/pid-pressure": condition("the node is short of process ids", PRESSURE),
  "node.kubernetes.io/unschedulable": others(
    NODE_CONTROLLER,
    "somebody cordoned the node",
    "kubectl uncordon NODE",
  ),
  "node.kubernetes.io/out-of-service": others(
    "an administrator",
    "the node was declared out of service so that its pods may be moved by force",
    "take it off by hand once the machine is back",
  ),
  "node.cilium.io/agent-not-ready": agent("Cilium"),
  "cni.istio.io/not-ready": agent("Istio"),
  "karpenter.sh/unregistered": others(
    "Karpenter",
    "its NodeClaim is not registered yet",
    "see the NodeClaim: Karpenter takes it off once the node's provider ID is that of its instance",
  ),
  "karpenter.sh/disrupted": others(
    "Karpenter",
    "it is about to replace or remove the node",
    "none: see the NodeClaim's events for why",
  ),
  "karpenter.sh/disruption": others(
    "Karpenter",
    "it is about to replace or remove the node",
    "none: see the NodeClaim's events for why",
  ),
  "node.cluster.x-k8s.io/uninitialized": others(
    "Cluster API",
    "it has not set the Machine's labels on the node yet",
    CAPI_REMEDY,
  ),
  "node.cluster.x-k8s.io/outdated-revision": others(
    "Cluster API",
    "the node's Machine is of an older revision than its MachineDeployment",
    "none: the node is about to be replaced",
  ),
  "node-role.kubernetes.io/control-plane": wanted("who set up the node", "it is a control plane's"),
  "node-role.kubernetes.io/master": wanted("who set up the node", "it is a control plane's"),
  "eks.amazonaws.com/compute-type": wanted("Amazon EKS", "the node is a Fargate pod's own"),
  "nvidia.com/gpu": wanted("who set up the node, for NVIDIA GPUs", "it is kept for pods that use them"),
  "amd.com/gpu": wanted("who set up the node, for AMD GPUs", "it is kept for pods that use them"),
  "aws.amazon.com/neuron": wanted("who set up the node, for AWS Neuron", "it is kept for pods that use it"),
};

const BY_PATTERN: readonly (readonly [RegExp, TaintOwner])[] = [
  [
    /^aws-node-termination-handler\//,
    others(
      "the AWS node termination handler",
      "AWS has announced that the instance will end, or be worked on",
      "none: its pods are moved; the instance goes with what was announced",
    ),
  ],
  [/\.csi\.aws\.com\/agent-not-ready$/, agent("an AWS CSI driver")],
  [
    /^(eks|node|vpc)\.(amazonaws|aws)\.com\/|^node\.k8s\.aws\//,
    others("AWS", "a component of AWS's set it", "see the documentation of that component"),
  ],
  [
    /^(startup-taint|ignore-taint|status-taint)\.cluster-autoscaler\.kubernetes\.io\//,
    others(
      "who set up the node",
      "something is to be done on the node before pods may come; the cluster autoscaler overlooks it",
      "see what was to take it off",
    ),
  ],
  [
    /^(nvidia|amd|gpu\.intel|habana)\.(com|ai)\//,
    others(
      "a GPU operator or driver",
      "GPUs are being set up or kept apart",
      "see the operator's pods on the node",
    ),
  ],
  [/\/agent-not-ready$/, agent("the agent that the key names")],
];

const UNKNOWN: TaintOwner = {
  kind: "unknown",
  owner: "unknown",
  means: "nobody that serverless-ccm knows puts it there",
  remedy: "ask who set up the node; its managedFields name who wrote the taints last",
};

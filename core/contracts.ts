// The names that serverless-ccm shares with Kubernetes, with the stock cloud-controller-manager and with its own
// past writes. They are wire-visible: changing one is an incompatible change.

/** Taint that a kubelet started with --cloud-provider=external registers with; matched by key, whatever its value or effect. */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";

/** Annotation in which a kubelet started with --node-ip states its one address, or its dual-stack pair. */
export const PROVIDED_NODE_IP_ANNOTATION = "alpha.kubernetes.io/provided-node-ip";

/** Annotation of ours: the instance a node was initialized from, as `<account>/<network>/<instance id>`. */
export const INSTANCE_ANNOTATION = "serverless-ccm.io/instance";

/** Both generations of a label that says where or what a node is: beta first, which after initialization is the source of truth. */
export interface LabelPair {
  readonly beta: string;
  readonly stable: string;
}

export const ZONE_LABELS: LabelPair = {
  beta: "failure-domain.beta.kubernetes.io/zone",
  stable: "topology.kubernetes.io/zone",
};

export const REGION_LABELS: LabelPair = {
  beta: "failure-domain.beta.kubernetes.io/region",
  stable: "topology.kubernetes.io/region",
};

export const INSTANCE_TYPE_LABELS: LabelPair = {
  beta: "beta.kubernetes.io/instance-type",
  stable: "node.kubernetes.io/instance-type",
};

/** The three pairs, in the order in which they are written and reconciled. */
export const LABEL_PAIRS: readonly LabelPair[] = [INSTANCE_TYPE_LABELS, ZONE_LABELS, REGION_LABELS];

/** Who we are in `managedFields`; witnesses and `TaintRestored` tell writers apart by it. */
export const FIELD_MANAGER = "serverless-ccm";

/** Taint of a node whose instance is stopped; matched by key and effect. */
export const SHUTDOWN_TAINT = {
  key: "node.cloudprovider.kubernetes.io/shutdown",
  effect: "NoSchedule",
} as const;

/** Taint of a node that the cluster autoscaler is about to remove; matched by key. */
export const TO_BE_DELETED_TAINT = "ToBeDeletedByClusterAutoscaler";

/** The `source.component` of the Events of the node lifecycle: the stock controller's. */
export const NODE_LIFECYCLE_EVENT_SOURCE = "cloud-node-lifecycle-controller";

/** The Lease in `kube-system` with which a relay vouches that changes in the cluster reach the functions. */
export const RELAY_LEASE = "serverless-ccm-relay";

/** Label of a Lease in a management cluster by which replicas of the relay know each other. */
export const REPLICA_LABEL = "serverless-ccm.io/replica";

/** The ConfigMap in `kube-system` that holds what deletion has to remember. */
export const STATE_CONFIG_MAP = "serverless-ccm";

/** Where both are. */
export const SYSTEM_NAMESPACE = "kube-system";

/** The `source.component` of the Events of node initialization: the stock controller's, so that existing tooling finds them. */
export const NODE_EVENT_SOURCE = "cloud-node-controller";

/** The finalizer that keeps a Service until its load balancer is gone; the stock controller's, and other ones' too. */
export const LOAD_BALANCER_FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

/** Annotation of ours on a Service: that its load balancer is ours, and what of it was applied. */
export const LOAD_BALANCER_ANNOTATION = "serverless-ccm.io/load-balancer";

/** The `spec.loadBalancerClass` that is ours as well as none is. */
export const LOAD_BALANCER_CLASS = "serverless-ccm.io/nlb";

/** Label of a node that load balancers send nothing to, unless it says false. */
export const EXCLUDE_FROM_LOAD_BALANCERS_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";

/** Annotation with the networks that may use a load balancer, where `spec.loadBalancerSourceRanges` names none. */
export const SOURCE_RANGES_ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges";

/** The `source.component` of the Events of load balancers: the stock controller's. */
export const SERVICE_EVENT_SOURCE = "service-controller";

/** The `source.component` of the Events of routes: the stock controller's, underscore and all. */
export const ROUTE_EVENT_SOURCE = "route_controller";

/** Label of a node whose instance was tagged: a checksum of the tags; the stock controller's of AWS. */
export const TAGS_LABEL = "k8s.io/cloud-provider-aws";

/** Other names of controllers, as `--controllers` and a cluster's entry take them: the same as in the watch halves. */
export const CONTROLLER_ALIASES: Readonly<Record<string, string>> = {
  "cloud-node": "cloud-node-controller",
  "cloud-node-lifecycle": "cloud-node-lifecycle-controller",
  csr: "csr-approver",
  service: "service-lb-controller",
  route: "node-route-controller",
  "tagging-controller": "tagging",
};

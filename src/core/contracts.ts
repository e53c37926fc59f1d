// The names that serverless-ccm shares with Kubernetes, with the stock cloud-controller-manager and with its own
// past writes. They are wire-visible: changing one is an incompatible change.

/**
 * The taint with which a kubelet with --cloud-provider=external registers. It is matched by key, whatever its
 * value or effect.
 */
export const UNINITIALIZED_TAINT = "node.cloudprovider.kubernetes.io/uninitialized";

/** The annotation in which a kubelet with --node-ip reports its one address, or its dual-stack pair. */
export const PROVIDED_NODE_IP_ANNOTATION = "alpha.kubernetes.io/provided-node-ip";

/**
 * Our annotation with the instance from which a node was initialized, as `<account>/<network>/<instance id>`.
 */
export const INSTANCE_ANNOTATION = "serverless-ccm.io/instance";

/**
 * Both generations of a topology or type label. The beta label comes first and is the source of truth after
 * initialization.
 */
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

/** The three label pairs, in the order in which they are written and reconciled. */
export const LABEL_PAIRS: readonly LabelPair[] = [INSTANCE_TYPE_LABELS, ZONE_LABELS, REGION_LABELS];

/** Our name in `managedFields`; hand-over monitors and `TaintRestored` distinguish writers by it. */
export const FIELD_MANAGER = "serverless-ccm";

/** The taint of a node whose instance is stopped, matched by key and effect. */
export const SHUTDOWN_TAINT = {
  key: "node.cloudprovider.kubernetes.io/shutdown",
  effect: "NoSchedule",
} as const;

/** The taint of a node that the cluster autoscaler is about to remove, matched by key. */
export const TO_BE_DELETED_TAINT = "ToBeDeletedByClusterAutoscaler";

/** The `source.component` of the Events of the node lifecycle: the stock controller's. */
export const NODE_LIFECYCLE_EVENT_SOURCE = "cloud-node-lifecycle-controller";

/** The Lease in `kube-system` with which a relay reports that events can reach the functions. */
export const RELAY_LEASE = "serverless-ccm-relay";

/** The label of Leases in a management cluster by which replicas of the relay find each other. */
export const REPLICA_LABEL = "serverless-ccm.io/replica";

/** The ConfigMap in `kube-system` that holds the deletion state. */
export const STATE_CONFIG_MAP = "serverless-ccm";

/** The namespace of the Lease and the ConfigMap. */
export const SYSTEM_NAMESPACE = "kube-system";

/**
 * The `source.component` of the Events of node initialization: the stock controller's, so that existing
 * tooling finds them.
 */
export const NODE_EVENT_SOURCE = "cloud-node-controller";

/**
 * The finalizer that keeps a Service until its load balancer is gone. The stock controller and others use it
 * too.
 */
export const LOAD_BALANCER_FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

/** Our annotation on a Service: it records that its load balancer is ours, and what was applied. */
export const LOAD_BALANCER_ANNOTATION = "serverless-ccm.io/load-balancer";

/** The `spec.loadBalancerClass` that we serve, in addition to Services without a class. */
export const LOAD_BALANCER_CLASS = "serverless-ccm.io/nlb";

/** The label of a node that load balancers do not send to, unless its value is false. */
export const EXCLUDE_FROM_LOAD_BALANCERS_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";

/**
 * The annotation with the networks that may use a load balancer, if `spec.loadBalancerSourceRanges` is empty.
 */
export const SOURCE_RANGES_ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges";

/** The annotation with the ID of a Service's load balancer, as a stock controller writes it. */
export const LOAD_BALANCER_ID_ANNOTATION = "kubernetes.digitalocean.com/load-balancer-id";

/** The `source.component` of the Events of load balancers: the stock controller's. */
export const SERVICE_EVENT_SOURCE = "service-controller";

/** The `source.component` of the Events of routes: the stock controller's, with its underscore. */
export const ROUTE_EVENT_SOURCE = "route_controller";

/**
 * The label of a node whose instance was tagged. Its value is a checksum of the tags, as in AWS's stock
 * controller.
 */
export const TAGS_LABEL = "k8s.io/cloud-provider-aws";

/** The name of a cluster for which none is configured: the stock controller's default of `--cluster-name`. */
export const DEFAULT_CLUSTER_NAME = "kubernetes";

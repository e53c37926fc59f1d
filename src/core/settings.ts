import * as z from "zod";
import { isIPv6Network } from "#core/cidr.ts";
import { isReservedTag } from "#core/reserved-tags.ts";

/** How labels of initialized nodes follow the cloud's facts, which the stock controller never does. */
export const LabelSettings = z.strictObject({
  /** Adds the cloud's labels that an initialized node lacks. */
  addMissing: z.boolean().prefault(true),
  /** Sets labels that differ to the cloud's value. */
  correctDiffering: z.boolean().prefault(false),
});
export type LabelSettings = z.output<typeof LabelSettings>;

/** Whether nodes whose instance is gone are deleted, and within which limits. */
export const DeletionSettings = z.strictObject({
  enabled: z.boolean().prefault(true),
  /** Also deletes nodes that were never observed with an instance, as the stock controller does. */
  unseen: z.boolean().prefault(false),
  /** Seconds between two "not found" answers, without a "found" between them. */
  graceSeconds: z.number().min(1).max(300).prefault(30),
  /**
   * The brake: the maximum percentage of a cluster's nodes that unproven deletions may remove in ten minutes.
   */
  maxPercentIn10Minutes: z.number().min(0).max(100).prefault(20),
  /** The brake's maximum percentage in a day. */
  maxPercentIn24Hours: z
    .number()
    .min(0)
    .max(100)
    .prefault(100 / 3),
});
export type DeletionSettings = z.output<typeof DeletionSettings>;

/** The node settings of a cluster. */
export const NodeSettings = z.strictObject({
  labels: LabelSettings.prefault({}),
  /**
   * Seconds until a node that is not Ready is checked again; they grow to 60 while its state does not change.
   */
  monitorSeconds: z.number().min(1).max(60).prefault(5),
  deletion: DeletionSettings.prefault({}),
});
export type NodeSettings = z.output<typeof NodeSettings>;

/** The load balancer settings of a cluster. */
export const LoadBalancerSettings = z.strictObject({
  /**
   * The maximum number of Services with a load balancer; others wait, with a Warning. By default 100, and for
   * each kind at most the cluster's share of the account's quota.
   */
  max: z.int().min(0).max(5_000).optional(),
  /** The maximum number of ports of all load balancers together; by default `limitListeners`. */
  maxPorts: z.int().min(0).max(250_000).optional(),
  /**
   * The sweep deletes our load balancers whose Service is gone, after proof; by default they are only
   * reported.
   */
  deleteOrphaned: z.boolean().prefault(false),
});
export type LoadBalancerSettings = z.output<typeof LoadBalancerSettings>;

/** The settings that limit load balancers. */
export type LoadBalancerLimits = Pick<LoadBalancerSettings, "max" | "maxPorts">;

/** The default of `max`: after an upgrade, no cluster may have more than before. */
const DEFAULT_MAX_LOAD_BALANCERS = 100;
/** The number of ports for each allowed load balancer. */
const PORTS_PER_LOAD_BALANCER = 10;
/** The minimum number of ports: as many as one network load balancer may have on AWS. */
const LEAST_PORTS = 50;

/** Returns the maximum number of load balancers in a cluster. */
export function limitLoadBalancers({ max }: LoadBalancerLimits): number {
  return max ?? DEFAULT_MAX_LOAD_BALANCERS;
}

/** Returns the maximum number of ports that the load balancers of a cluster may have together. */
export function limitListeners(settings: LoadBalancerLimits): number {
  return settings.maxPorts ?? Math.max(LEAST_PORTS, PORTS_PER_LOAD_BALANCER * limitLoadBalancers(settings));
}

/** An IPv4 or IPv6 network in CIDR notation. */
const Cidr = z.union([z.cidrv4(), z.cidrv6()], "a network such as 10.128.0.0/14 or fd00:10::/56");

/** The settings of routes to the pods of nodes. */
export const RouteSettings = z
  .strictObject({
    /** `--configure-cloud-routes`. */
    configure: z.boolean().prefault(true),
    /** `--cluster-cidr`: one network, or one of each family; without a network no route is created. */
    clusterCIDRs: z.array(Cidr).max(2).prefault([]),
    /**
     * `--route-reconciliation-period`: the interval between two comparisons of all routes without a change of nodes.
     */
    reconciliationSeconds: z.number().min(10).max(86_400).prefault(10),
  })
  .refine(({ clusterCIDRs }) => new Set(clusterCIDRs.map(isIPv6Network)).size === clusterCIDRs.length, {
    message: "two networks are one of IPv4 and one of IPv6",
    path: ["clusterCIDRs"],
  });
export type RouteSettings = z.output<typeof RouteSettings>;

/** AWS allows 50 on a resource: ours, the mark that lists ours, and some of other owners. */
const MAX_TAGS = 40;

const RESERVED_TAG =
  "a tag whose key begins with aws:, kubernetes.io/ or serverless-ccm.io/, or is KubernetesCluster, says whose a resource is";

/** The tags for the cloud resources of nodes. */
export const TaggingSettings = z.strictObject({
  /** `--tags`. */
  tags: z
    .record(z.string().min(1).max(128), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= MAX_TAGS, { message: `at most ${MAX_TAGS} tags` })
    .superRefine((tags, context) => {
      for (const key of Object.keys(tags).filter(isReservedTag))
        context.addIssue({ code: "custom", path: [key], message: RESERVED_TAG });
    })
    .prefault({}),
  /** `--resources`. */
  resources: z.array(z.enum(["instance"])).prefault(["instance"]),
});
export type TaggingSettings = z.output<typeof TaggingSettings>;

/**
 * The configuration of a cluster's cloud, as parsed by its provider; controllers pass it to their part for
 * that cloud.
 */
export type CloudSettings = { readonly provider: string } & Readonly<Record<string, unknown>>;

/** The parts of a cluster's configuration on which decisions depend. */
export interface Settings {
  /** The cluster's name, which is also the default of `clusterTag`. */
  readonly cluster: string;
  readonly cloud: CloudSettings;
  /**
   * The one `spec.loadBalancerClass` that this cluster serves; by default Services without a class, and with
   * our own.
   */
  readonly loadBalancerClass?: string | undefined;
  readonly nodes: NodeSettings;
  readonly loadBalancers: LoadBalancerSettings;
  readonly routes: RouteSettings;
  readonly tagging: TaggingSettings;
}

/** The settings of an empty configuration. */
export const DEFAULT_SETTINGS: Settings = {
  cluster: "kubernetes",
  cloud: { provider: "memory" },
  nodes: NodeSettings.parse({}),
  loadBalancers: LoadBalancerSettings.parse({}),
  routes: RouteSettings.parse({}),
  tagging: TaggingSettings.parse({}),
};

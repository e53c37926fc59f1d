import * as z from "zod";
import { isIPv6Network } from "#core/cidr.ts";
import { isReservedTag } from "#core/tagging/reserved-tags.ts";

/** How the labels of initialized nodes are kept in line with what the cloud says, which the stock controller never does. */
export const LabelSettings = z.strictObject({
  /** A label of the cloud's that an initialized node lacks is added. */
  addMissing: z.boolean().prefault(true),
  /** One that says something else is set to what the cloud says. */
  correctDiffering: z.boolean().prefault(false),
});
export type LabelSettings = z.output<typeof LabelSettings>;

/** Whether nodes whose instance is gone are deleted, and what holds that back. */
export const DeletionSettings = z.strictObject({
  enabled: z.boolean().prefault(true),
  /** Also nodes of which no instance was ever seen, as the stock controller does. */
  unseen: z.boolean().prefault(false),
  /** Seconds between two answers that there is no such instance, with none between that there is. */
  graceSeconds: z.number().min(1).max(300).prefault(30),
  /** The brake: deletions that no terminated instance explains, of a cluster's nodes, at the most … */
  maxPercentIn10Minutes: z.number().min(0).max(100).prefault(20),
  /** … and in a day. */
  maxPercentIn24Hours: z
    .number()
    .min(0)
    .max(100)
    .prefault(100 / 3),
});
export type DeletionSettings = z.output<typeof DeletionSettings>;

/** What a cluster's configuration says of its nodes. */
export const NodeSettings = z.strictObject({
  labels: LabelSettings.prefault({}),
  /** Seconds after which a node that is not Ready is looked at again; grows to 60 for one whose state does not change. */
  monitorSeconds: z.number().min(1).max(60).prefault(5),
  deletion: DeletionSettings.prefault({}),
});
export type NodeSettings = z.output<typeof NodeSettings>;

/** Load balancers of a cluster. */
export const LoadBalancerSettings = z.strictObject({
  /**
   * Services of a cluster that get one; those beyond wait, and say so. Where nothing is written: 100, and of each kind no more than the
   * cluster's share of the account's quota.
   */
  max: z.int().min(0).max(5_000).optional(),
  /** Ports of all of them together; `limitListeners` where nothing is written. */
  maxPorts: z.int().min(0).max(250_000).optional(),
  /** Load balancers of ours whose Service is gone are deleted by the sweep, after proof; without it they are reported. */
  deleteOrphaned: z.boolean().prefault(false),
});
export type LoadBalancerSettings = z.output<typeof LoadBalancerSettings>;

/** What of them is bounded. */
export type LoadBalancerLimits = Pick<LoadBalancerSettings, "max" | "maxPorts">;

/** What a cluster has without `max`: an upgrade lets no cluster have more than it could before. */
const DEFAULT_MAX_LOAD_BALANCERS = 100;
/** Ports for each load balancer that a cluster may have … */
const PORTS_PER_LOAD_BALANCER = 10;
/** … and at least as many as one network load balancer may have on AWS. */
const LEAST_PORTS = 50;

/** Returns how many load balancers a cluster may have. */
export function limitLoadBalancers({ max }: LoadBalancerLimits): number {
  return max ?? DEFAULT_MAX_LOAD_BALANCERS;
}

/** Returns how many ports the load balancers of a cluster may have together. */
export function limitListeners(settings: LoadBalancerLimits): number {
  return settings.maxPorts ?? Math.max(LEAST_PORTS, PORTS_PER_LOAD_BALANCER * limitLoadBalancers(settings));
}

/** An IPv4 or IPv6 network in CIDR notation. */
const Cidr = z.union([z.cidrv4(), z.cidrv6()], "a network such as 10.128.0.0/14 or fd00:10::/56");

/** Routes to the pods of nodes. */
export const RouteSettings = z
  .strictObject({
    /** `--configure-cloud-routes`. */
    configure: z.boolean().prefault(true),
    /** `--cluster-cidr`: one network, or one of each family; without any no route is ever made. */
    clusterCIDRs: z.array(Cidr).max(2).prefault([]),
    /** `--route-reconciliation-period`: between two comparisons of all routes that no change of nodes has brought about. */
    reconciliationSeconds: z.number().min(10).max(86_400).prefault(10),
  })
  .refine(({ clusterCIDRs }) => new Set(clusterCIDRs.map(isIPv6Network)).size === clusterCIDRs.length, {
    message: "two networks are one of IPv4 and one of IPv6",
    path: ["clusterCIDRs"],
  });
export type RouteSettings = z.output<typeof RouteSettings>;

/** AWS has room for 50 on a resource: ours, the mark that says which these are, and some that are not ours. */
const MAX_TAGS = 40;

const RESERVED_TAG =
  "a tag whose key begins with aws:, kubernetes.io/ or serverless-ccm.io/, or is KubernetesCluster, says whose a resource is";

/** Tags that the cloud's resources of nodes get. */
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

/** The configuration of a cluster's cloud, as its kind has parsed it; controllers hand it to what they have for that cloud. */
export type CloudSettings = { readonly provider: string } & Readonly<Record<string, unknown>>;

/** What of a cluster's configuration decisions depend on. */
export interface Settings {
  /** The cluster's name, which is also what stands for `clusterTag` where there is none. */
  readonly cluster: string;
  readonly cloud: CloudSettings;
  /** The one `spec.loadBalancerClass` whose Services have load balancers here; without it those without a class, and of our own. */
  readonly loadBalancerClass?: string | undefined;
  readonly nodes: NodeSettings;
  readonly loadBalancers: LoadBalancerSettings;
  readonly routes: RouteSettings;
  readonly tagging: TaggingSettings;
}

/** What holds where a configuration says nothing. */
export const DEFAULT_SETTINGS: Settings = {
  cluster: "kubernetes",
  cloud: { provider: "memory" },
  nodes: NodeSettings.parse({}),
  loadBalancers: LoadBalancerSettings.parse({}),
  routes: RouteSettings.parse({}),
  tagging: TaggingSettings.parse({}),
};

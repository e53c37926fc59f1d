import { createHash } from "node:crypto";

/** The parts of a target group's name. */
export interface TargetGroupNaming {
  readonly clusterTag: string;
  readonly namespace: string;
  readonly name: string;
  readonly servicePort: number;
  readonly nodePort: number;
  readonly protocol: string;
  readonly targetType: string;
  readonly healthCheckProtocol: string;
  readonly healthCheckIntervalSeconds: number;
  /** Distinguishes names of the same recipe; absent in names of the stock controller. */
  readonly salt?: string | undefined;
}

/** Formats the name of a target group by the stock controller's recipe. */
export function formatTargetGroupName(parts: TargetGroupNaming): string {
  const recipe = [
    parts.clusterTag,
    parts.namespace,
    parts.name,
    parts.servicePort,
    parts.nodePort,
    parts.protocol,
    parts.targetType,
    parts.healthCheckProtocol,
    parts.healthCheckIntervalSeconds,
    parts.salt ?? "",
  ].join("");
  return formatName(parts.namespace, parts.name, createHash("sha1").update(recipe).digest("hex"));
}

/** Formats the name of a network load balancer's security group by the stock controller's recipe. */
export function formatManagedGroupName(parts: {
  /** The stock controller's `--cluster-name`. */
  readonly clusterName: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}): string {
  const recipe = `${parts.clusterName}${parts.name}${parts.namespace}${parts.uid}`;
  return formatName(parts.namespace, parts.name, createHash("sha256").update(recipe).digest("hex"));
}

/** Formats the prefix of a Service's target group names, for all of its ports. */
export function formatTargetGroupPrefix(namespace: string, name: string): string {
  return `k8s-${shorten(namespace)}-${shorten(name)}-`;
}

function formatName(namespace: string, name: string, hash: string): string {
  return `${formatTargetGroupPrefix(namespace, name)}${hash.slice(0, 10)}`;
}

function shorten(text: string): string {
  return text.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 8);
}

/**
 * Formats the name of a Service's load balancer, of either type, by the stock controller's recipe: from the
 * uid alone, so that it can always be found again. Undefined if AWS does not allow the name: the cluster's
 * API server controls the uid.
 */
export function formatLoadBalancerName(uid: string): string | undefined {
  const name = `a${uid.replaceAll("-", "")}`.slice(0, MAX_LENGTH);
  return /^[0-9A-Za-z]+$/.test(name) ? name : undefined;
}

/** Elastic Load Balancing's maximum. */
const MAX_LENGTH = 32;

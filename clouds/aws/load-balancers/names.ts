import { createHash } from "node:crypto";

/** What a target group's name is made of. */
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
  /** What tells it from another one of the same recipe; absent in names of the stock controller. */
  readonly salt?: string | undefined;
}

/** The name of a target group, by the stock controller's recipe. */
export function targetGroupName(of: TargetGroupNaming): string {
  const recipe = [
    of.clusterTag,
    of.namespace,
    of.name,
    of.servicePort,
    of.nodePort,
    of.protocol,
    of.targetType,
    of.healthCheckProtocol,
    of.healthCheckIntervalSeconds,
    of.salt ?? "",
  ].join("");
  return named(of.namespace, of.name, createHash("sha1").update(recipe).digest("hex"));
}

/** The name of the security group that is made for a network load balancer, by the stock controller's recipe. */
export function managedGroupName(of: {
  /** The stock controller's `--cluster-name`. */
  readonly clusterName: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}): string {
  const recipe = `${of.clusterName}${of.name}${of.namespace}${of.uid}`;
  return named(of.namespace, of.name, createHash("sha256").update(recipe).digest("hex"));
}

/** How target groups of a Service begin, whatever ports they are for. */
export function targetGroupPrefix(namespace: string, name: string): string {
  return `k8s-${short(namespace)}-${short(name)}-`;
}

function named(namespace: string, name: string, hash: string): string {
  return `${targetGroupPrefix(namespace, name)}${hash.slice(0, 10)}`;
}

function short(text: string): string {
  return text.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 8);
}

import type { Service } from "#core/service/service.ts";

/** The stack with all load balancers of a cluster. */
export const STACK = { name: "kubernetes-loadbalancers", externalId: "kubernetes-loadbalancers://" } as const;

/** The setting with the image of load balancers. */
export const IMAGE_SETTING = "lb.instance.image";

/** Formats the name of a Service's load balancer as the stock controller does. */
export function formatBalancerName({ metadata }: Service): string {
  return `lb-a${metadata.uid.replaceAll("-", "")}`;
}

/** Formats the name of a node's service: letters, digits and dashes, at most 63. */
export function formatExternalName(nodeName: string): string {
  return trimDashes(trimDashes(nodeName.replace(/[^A-Za-z0-9-]+/g, "-")).slice(0, 63));
}

function trimDashes(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === "-") from += 1;
  while (to > from && text[to - 1] === "-") to -= 1;
  return text.slice(from, to);
}

import type { Service } from "#core/service/service.ts";

/** The stack that has all load balancers of a cluster. */
export const STACK = { name: "kubernetes-loadbalancers", externalId: "kubernetes-loadbalancers://" } as const;

/** The setting that names the image of load balancers. */
export const IMAGE_SETTING = "lb.instance.image";

/** The name of a Service's load balancer, as the stock controller makes it. */
export function balancerName({ metadata }: Service): string {
  return `lb-a${metadata.uid.replaceAll("-", "")}`;
}

/** The name of what stands for a node: letters, digits and dashes, 63 at the most. */
export function externalName(nodeName: string): string {
  return trimDashes(trimDashes(nodeName.replace(/[^A-Za-z0-9-]+/g, "-")).slice(0, 63));
}

function trimDashes(text: string): string {
  let [from, to] = [0, text.length];
  while (text[from] === "-") from += 1;
  while (to > from && text[to - 1] === "-") to -= 1;
  return text.slice(from, to);
}

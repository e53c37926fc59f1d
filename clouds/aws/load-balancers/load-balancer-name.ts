/**
 * The name of a Service's load balancer, of either kind: upstream's recipe, of the uid alone, so that it is found again whatever
 * happens. Undefined where AWS takes no such name: a uid is the word of the cluster's API server.
 */
export function loadBalancerNameOf(uid: string): string | undefined {
  const name = `a${uid.replaceAll("-", "")}`.slice(0, MAX_LENGTH);
  return /^[0-9A-Za-z]+$/.test(name) ? name : undefined;
}

/** How the names of all target groups of a Service begin, by upstream's recipe; those of other Services may begin so, too. */
export function targetGroupPrefixOf(namespace: string, name: string): string {
  return `k8s-${shortened(namespace)}-${shortened(name)}-`;
}

/** What Elastic Load Balancing takes. */
const MAX_LENGTH = 32;

function shortened(text: string): string {
  return text.replaceAll(/[^0-9A-Za-z]/g, "").slice(0, 8);
}

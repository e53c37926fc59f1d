/**
 * The name of a Service's load balancer, of either kind: upstream's recipe, of the uid alone, so that it is found again whatever
 * happens. Undefined where AWS takes no such name: a uid is the word of the cluster's API server.
 */
export function loadBalancerNameOf(uid: string): string | undefined {
  const name = `a${uid.replaceAll("-", "")}`.slice(0, MAX_LENGTH);
  return /^[0-9A-Za-z]+$/.test(name) ? name : undefined;
}

/** What Elastic Load Balancing takes. */
const MAX_LENGTH = 32;

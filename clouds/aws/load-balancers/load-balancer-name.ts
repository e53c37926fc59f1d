/** The name of a Service's load balancer, of either kind: upstream's recipe, of the uid alone, so that it is found again whatever happens. */
export function loadBalancerNameOf(uid: string): string {
  return `a${uid.replaceAll("-", "")}`.slice(0, MAX_LENGTH);
}

/** What Elastic Load Balancing takes. */
const MAX_LENGTH = 32;

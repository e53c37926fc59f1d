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

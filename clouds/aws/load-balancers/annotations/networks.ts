/** Whether a network in canonical form is one of IPv6. */
export function isIPv6Network(network: string): boolean {
  return network.includes(":");
}

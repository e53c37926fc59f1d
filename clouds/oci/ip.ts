import { isIPv4, isIPv6 } from "node:net";

/** One spelling for one address, IPv6 as RFC 5952 has it, or a node would look changed; undefined of what is none. */
export function canonicalIp(address: string): string | undefined {
  if (isIPv4(address)) return address;
  return isIPv6(address) && !address.includes("%")
    ? new URL(`http://[${address}]`).hostname.slice(1, -1)
    : undefined;
}

/** Whether a canonical IPv6 address is for use within a site alone: fc00::/7. */
export function isUniqueLocal(address: string): boolean {
  return /^f[cd][0-9a-f]{2}:/.test(address);
}

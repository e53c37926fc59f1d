import { parseIp } from "#core/ip.ts";

/** Returns whether an address is in a CIDR network of the same family; false if either is invalid. */
export function isInNetwork(address: string, network: string): boolean {
  const [start = "", prefixLength = ""] = network.split("/");
  const [ip, base] = [parseIp(address), parseIp(start)];
  if (ip === undefined || base === undefined || ip.family !== base.family || !/^\d+$/.test(prefixLength))
    return false;
  // A prefix longer than the address would give a negative number, and shift to the left.
  const hostBits = BigInt(Math.max(0, (ip.family === 4 ? 32 : 128) - Number(prefixLength)));
  return ip.value >> hostBits === base.value >> hostBits;
}

import { parseIp } from "#core/ip.ts";

/** Whether an address is in a network in CIDR notation, of the same family. */
export function isInNetwork(address: string, network: string): boolean {
  const [start = "", length = ""] = network.split("/");
  const [ip, base] = [parseIp(address), parseIp(start)];
  if (ip === undefined || base === undefined || ip.family !== base.family || !/^\d+$/.test(length))
    return false;
  const hosts = BigInt(Math.max(0, (ip.family === 4 ? 32 : 128) - Number(length)));
  return ip.value >> hosts === base.value >> hosts;
}

import { formatCidr } from "#core/cidr.ts";
import { type Ip, parseIp } from "#core/ip.ts";

/** One spelling for one address, IPv6 as RFC 5952 has it, or a node would look changed; undefined for what is no address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** The same of an address that has been read. */
export function formatIp({ family, value }: Ip): string {
  const whole = formatCidr({ family, first: value, length: family === 4 ? 32 : 128 });
  return whole.slice(0, whole.indexOf("/"));
}

import { formatCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";

/** One spelling for one address, IPv6 as RFC 5952 has it, or a node would look changed; undefined for what is no address. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return undefined;
  const whole = formatCidr({ family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 });
  return whole.slice(0, whole.indexOf("/"));
}

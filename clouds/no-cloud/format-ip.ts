import { formatCidr } from "#core/cidr.ts";
import type { Ip } from "#core/ip.ts";

/** The one spelling of an address that all of its spellings have. */
export function formatIp({ family, value }: Ip): string {
  const [address = ""] = formatCidr({ family, first: value, length: family === 4 ? 32 : 128 }).split("/");
  return address;
}

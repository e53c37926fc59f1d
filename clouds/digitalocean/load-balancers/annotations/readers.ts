import { accept, type Reader, readInteger, reject, splitItems } from "#clouds/annotations/readers.ts";
import { canonicalizeCidr, canonicalizeIp } from "#core/cidr.ts";

/** Reads comma-separated port numbers. */
export const readPorts: Reader<readonly number[]> = (written) => {
  const items = splitItems(written);
  const isValid = items.length <= MAX_ITEMS && items.every((item) => readPort(item).ok);
  return isValid ? accept([...new Set(items.map(Number))]) : reject("ports between commas, such as 443,8443");
};

/** Reads a port number. */
export const readPort = readInteger(1, 65_535);

/** Reads comma-separated firewall rules, with networks in canonical form. */
export const readFirewallRules: Reader<readonly string[]> = (written) => {
  const items = splitItems(written);
  const rules = items.slice(0, MAX_ITEMS).map(parseFirewallRule);
  const isValid = items.length <= MAX_ITEMS && rules.every((rule) => rule !== undefined);
  return isValid
    ? accept([...new Set(rules.filter((rule) => rule !== undefined))].sort())
    : reject("addresses and networks between commas, such as ip:192.0.2.1,cidr:198.51.100.0/24");
};

/** Accepts any value: only the presence counts. */
export const readPresence: Reader<true> = () => accept(true);

function parseFirewallRule(item: string): string | undefined {
  if (item.startsWith("ip:")) {
    const address = canonicalizeIp(item.slice(3));
    return address === undefined ? undefined : `ip:${address}`;
  }
  if (!item.startsWith("cidr:")) return undefined;
  const network = canonicalizeCidr(item.slice(5));
  return network === undefined ? undefined : `cidr:${network}`;
}

/** More than a load balancer allows, and few enough to make any tenant's text cheap to read. */
const MAX_ITEMS = 1_000;

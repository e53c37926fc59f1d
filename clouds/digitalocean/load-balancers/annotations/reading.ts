import { is, itemsOf, mayBe, type Reader, wholeNumber } from "#clouds/annotations/reading.ts";
import { canonicalCidr, canonicalIp } from "#core/cidr.ts";

/** Numbers of ports between commas. */
export const ports: Reader<readonly number[]> = (written) => {
  const items = itemsOf(written);
  const isGood = items.length <= MAX_ITEMS && items.every((item) => port(item).ok);
  return isGood ? is([...new Set(items.map(Number))]) : mayBe("ports between commas, such as 443,8443");
};

/** The number of a port. */
export const port = wholeNumber(1, 65_535);

/** Rules of a firewall between commas; networks in their one spelling. */
export const firewallRules: Reader<readonly string[]> = (written) => {
  const items = itemsOf(written);
  const rules = items.slice(0, MAX_ITEMS).map(firewallRule);
  const isGood = items.length <= MAX_ITEMS && rules.every((rule) => rule !== undefined);
  return isGood
    ? is([...new Set(rules.filter((rule) => rule !== undefined))].sort())
    : mayBe("addresses and networks between commas, such as ip:192.0.2.1,cidr:198.51.100.0/24");
};

/** That it is there is all it says. */
export const presence: Reader<true> = () => is(true);

function firewallRule(item: string): string | undefined {
  if (item.startsWith("ip:")) {
    const address = canonicalIp(item.slice(3));
    return address === undefined ? undefined : `ip:${address}`;
  }
  if (!item.startsWith("cidr:")) return undefined;
  const network = canonicalCidr(item.slice(5));
  return network === undefined ? undefined : `cidr:${network}`;
}

/** More than a load balancer takes, so that what a tenant writes costs little to read. */
const MAX_ITEMS = 1_000;

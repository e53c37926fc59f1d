import type { NodeRule } from "#clouds/no-cloud/config.ts";
import { matchesGlob } from "#clouds/no-cloud/glob.ts";
import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import type { NodeAddress } from "#core/node/node.ts";

/**
 * Finds the first rule for a node of this name and these addresses; names and networks must both match if
 * both are given.
 */
export type FindRule = (name: string, addresses: readonly NodeAddress[]) => NodeRule | undefined;

/** Networks are parsed once; names are matched each time. */
export function createRules(rules: readonly NodeRule[]): FindRule {
  const prepared = rules.map((rule) => ({
    rule,
    networks: rule.networks?.flatMap((text) => parseCidr(text) ?? []),
  }));
  return (name, addresses) => {
    const ips = addresses
      .filter(({ type }) => type === "InternalIP" || type === "ExternalIP")
      .flatMap(toHostNetwork);
    return prepared.find(
      ({ rule: { names }, networks }) =>
        (names?.some((pattern) => matchesGlob(pattern, name)) ?? true) &&
        (networks?.some((network) => ips.some((ip) => isWithin(ip, network))) ?? true),
    )?.rule;
  };
}

/** Converts an address to the network that contains only it. */
function toHostNetwork({ address }: NodeAddress): Cidr[] {
  const ip = parseIp(address);
  return ip === undefined ? [] : [{ family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 }];
}

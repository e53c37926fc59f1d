import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/kind.ts";
import { type AddressRules, parseAllowedNetworks, rulesFor } from "#config/address-rules.ts";
import type { HomeKind } from "#config/home/home.ts";

/** Reads where the API servers of a home's clusters may be: the flag, or ALLOWED_NETWORKS of the environment. */
export function readAllowedNetworks(
  flag: string | undefined,
  environment: Environment,
  home: HomeKind,
  faults: ConfigurationFault[],
): AddressRules {
  const [name, text] =
    flag === undefined
      ? ["ALLOWED_NETWORKS", environment["ALLOWED_NETWORKS"] || undefined]
      : ["--allowed-networks", flag];
  if (text === undefined) return rulesFor(home, undefined);
  const parsed = parseAllowedNetworks(text);
  if (parsed.kind === "networks") return rulesFor(home, parsed.networks);
  faults.push(...parsed.faults.map((message) => ({ name, message })));
  return rulesFor(home, []);
}

import type { ConfigurationFault } from "#cli/configuration-error.ts";
import type { Environment } from "#clouds/provider.ts";
import { type AddressRules, parseAllowedNetworks, selectAddressRules } from "#config/address-rules.ts";
import type { RegistryKind } from "#config/registry/registry.ts";

/**
 * Reads the networks in which API servers of a registry may be: from the flag, or from ALLOWED_NETWORKS in
 * the environment.
 */
export function readAllowedNetworks(
  flag: string | undefined,
  environment: Environment,
  registry: RegistryKind,
  faults: ConfigurationFault[],
): AddressRules {
  const [name, text] =
    flag === undefined
      ? ["ALLOWED_NETWORKS", environment["ALLOWED_NETWORKS"] || undefined]
      : ["--allowed-networks", flag];
  if (text === undefined) return selectAddressRules(registry, undefined);
  const parsed = parseAllowedNetworks(text);
  if (parsed.kind === "networks") return selectAddressRules(registry, parsed.networks);
  faults.push(...parsed.faults.map((message) => ({ name, message })));
  return selectAddressRules(registry, []);
}

import { createAddressJudge, parseAllowedNetworks, selectAddressRules } from "#config/address-rules.ts";
import type { RegistryKind } from "#config/registry/registry.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/**
 * Returns the address rules of a deployed function from ALLOWED_NETWORKS. An invalid value allows no internal
 * address.
 */
export function judgeAddresses(allowedNetworks: string | undefined, registry: RegistryKind): JudgeAddress {
  const parsed = allowedNetworks ? parseAllowedNetworks(allowedNetworks) : undefined;
  if (parsed?.kind !== "faults") return createAddressJudge(selectAddressRules(registry, parsed?.networks));
  const judge = createAddressJudge(selectAddressRules(registry, []));
  return (address) => {
    const because = judge(address);
    return because === undefined ? undefined : `${because}; ALLOWED_NETWORKS: ${parsed.faults.join("; ")}`;
  };
}

import { judgeBy, parseAllowedNetworks, rulesFor } from "#config/address-rules.ts";
import type { HomeKind } from "#config/home/home.ts";
import type { JudgeAddress } from "#kube/client/judged-lookup.ts";

/** Where API servers may be for a deployed function: what ALLOWED_NETWORKS says. Where that is faulty no internal address may be. */
export function judgeAddresses(allowedNetworks: string | undefined, home: HomeKind): JudgeAddress {
  const parsed = allowedNetworks ? parseAllowedNetworks(allowedNetworks) : undefined;
  if (parsed?.kind !== "faults") return judgeBy(rulesFor(home, parsed?.networks));
  const judge = judgeBy(rulesFor(home, []));
  return (address) => {
    const because = judge(address);
    return because === undefined ? undefined : `${because}; ALLOWED_NETWORKS: ${parsed.faults.join("; ")}`;
  };
}

import { readAccountLimits } from "#clouds/aws/account-limits.ts";
import type { Api } from "#clouds/aws/actions/api.ts";
import { CLASSIC_KIND, NETWORK_KIND } from "#clouds/aws/load-balancers/measure.ts";
import type { Session } from "#clouds/aws/session.ts";
import { type Amounts, LISTENER_COUNT } from "#core/service/load-balancer-quota.ts";

/** Account quotas for what Services need, cached by one process. */
export interface AccountQuotas {
  /** Returns the known quotas, empty if AWS has not answered; never rejects. */
  read(session: Session<Api>): Promise<Amounts>;
}

/** A raised quota takes effect after this time. A refused request is repeated after the shorter time. */
const KNOWN_MS = 3_600_000;
const UNKNOWN_MS = 600_000;

/** AWS's names of these quotas. */
const NAMES = {
  [NETWORK_KIND]: "network-load-balancers",
  [CLASSIC_KIND]: "classic-load-balancers",
  [LISTENER_COUNT]: "target-groups",
} as const;

/**
 * Creates the quotas of one account and region. `now` is a monotonic clock. Known quotas survive a failed
 * request.
 */
export function createAccountQuotas(now: () => number): AccountQuotas {
  let quotas: Amounts = {};
  let readAgainAtMs = Number.NEGATIVE_INFINITY;
  return {
    async read(session) {
      if (now() < readAgainAtMs) return quotas;
      const limits = await readAccountLimits(session);
      readAgainAtMs = now() + (limits.kind === "ok" ? KNOWN_MS : UNKNOWN_MS);
      if (limits.kind === "ok") {
        const entries = Object.entries(NAMES).map(([name, limit]) => [name, limits.value[limit]] as const);
        quotas = Object.fromEntries(entries.flatMap(([name, most]) => (isCount(most) ? [[name, most]] : [])));
      }
      return quotas;
    },
  };
}

function isCount(max: number | undefined): max is number {
  return max !== undefined && Number.isInteger(max) && max >= 0;
}

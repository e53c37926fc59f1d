import { accountLimits } from "#clouds/aws/account-limits.ts";
import type { Api } from "#clouds/aws/actions/api.ts";
import { CLASSIC_KIND, NETWORK_KIND } from "#clouds/aws/load-balancers/measure.ts";
import type { Session } from "#clouds/aws/session.ts";
import { type Amounts, LISTENER_COUNT } from "#core/service/places.ts";

/** What an account may have of what Services take, as remembered by one process. */
export interface AccountQuotas {
  /** Returns what is known, empty where AWS has told nothing; never rejects. */
  read(session: Session<Api>): Promise<Amounts>;
}

/** A quota that was raised counts after this; what AWS refused to tell is asked for again after the shorter time. */
const KNOWN_MS = 3_600_000;
const UNKNOWN_MS = 600_000;

/** AWS's names of these quotas. */
const NAMES = {
  [NETWORK_KIND]: "network-load-balancers",
  [CLASSIC_KIND]: "classic-load-balancers",
  [LISTENER_COUNT]: "target-groups",
} as const;

/** Quotas of one account and region; `now` is a clock that never steps. What was known outlasts a failure. */
export function createAccountQuotas(now: () => number): AccountQuotas {
  let known: Amounts = {};
  let dueMs = Number.NEGATIVE_INFINITY;
  return {
    async read(session) {
      if (now() < dueMs) return known;
      const limits = await accountLimits(session);
      dueMs = now() + (limits.kind === "ok" ? KNOWN_MS : UNKNOWN_MS);
      if (limits.kind === "ok") {
        const told = Object.entries(NAMES).map(([name, limit]) => [name, limits.value[limit]] as const);
        known = Object.fromEntries(told.flatMap(([name, most]) => (isCount(most) ? [[name, most]] : [])));
      }
      return known;
    },
  };
}

function isCount(most: number | undefined): most is number {
  return most !== undefined && Number.isInteger(most) && most >= 0;
}

import { createBudget } from "#clouds/aws/budget.ts";
import { AWS_QUOTAS, type Operation, type Quota, type QuotaName } from "#clouds/aws/quotas.ts";
import type { ActionCall, ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { createInvocationShares } from "#clouds/invocation-shares.ts";
import { NO_USAGE } from "../cloud.ts";
import type { Tenant, TenantAccount } from "./account.ts";

/** The share of the account's quotas that a relay gives each of two clusters. */
export const TENANT_SHARE = 0.5;

/** Small enough that both tenants reach the limit in each history. */
const QUOTA: Quota = { burst: 8, refillPerSecond: 0.2 };
const QUOTAS = Object.fromEntries(Object.keys(AWS_QUOTAS).map((name) => [name, QUOTA])) as Record<
  QuotaName,
  Quota
>;

const THROTTLED = { kind: "error", code: "Throttled", message: "the account's quotas are spent" } as const;

/**
 * Adds AWS's quotas to the account, for all of its clusters. Each tenant's function has its own budget, as
 * deployed, and uses no more than the share of each call. `now` returns milliseconds.
 */
export function addQuotas(account: TenantAccount, now: () => number): TenantAccount {
  const aws = createBudget(now, QUOTAS);
  const throttles: Record<Tenant, string[]> = { victim: [], evil: [] };
  let isLifted = false;

  function paced(tenant: Tenant, inner: Capability): Capability {
    const budget = createBudget(now, QUOTAS);
    const enter = createInvocationShares(budget);
    /** Whether the request is sent and answered. */
    const passes = (operation: Operation, call: ActionCall): boolean => {
      if (isLifted) return true;
      const leave = enter(call);
      try {
        if (budget.take(operation) !== undefined) return false;
        if (aws.take(operation) === undefined) return true;
        throttles[tenant].push(`the account throttles ${operation} of the ${tenant}`);
        return false;
      } finally {
        leave();
      }
    };
    return {
      observe: async (questions, call): Promise<ObservationsResult> =>
        passes("elbv2:DescribeLoadBalancers", call)
          ? inner.observe(questions, call)
          : { answers: questions.map(() => THROTTLED), usage: NO_USAGE },
      act: async (action, call): Promise<ActionResult> =>
        passes("elbv2:ModifyListener", call)
          ? inner.act(action, call)
          : { answer: THROTTLED, usage: NO_USAGE },
    };
  }

  const capabilities = (tenant: Tenant): Readonly<Record<string, Capability>> =>
    Object.fromEntries(
      Object.entries(account.capabilities(tenant)).map(([name, inner]) => [name, paced(tenant, inner)]),
    );
  // A function remembers what it has spent until it ends.
  const kept = { victim: capabilities("victim"), evil: capabilities("evil") };
  return {
    ...account,
    capabilities: (tenant) => kept[tenant],
    throttles: (tenant) => throttles[tenant],
    liftQuotas() {
      isLifted = true;
    },
  };
}

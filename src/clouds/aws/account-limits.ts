import { DescribeAccountLimitsCommand as ClassicLimits } from "@aws-sdk/client-elastic-load-balancing";
import { DescribeAccountLimitsCommand as NetworkLimits } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Api, Commands } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { CLASSIC_KIND, NETWORK_KIND } from "#clouds/aws/load-balancers/measure.ts";
import { createReader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { Session } from "#clouds/aws/session.ts";
import { ok } from "#clouds/outcome.ts";
import { type Amounts, LISTENERS_KEY } from "#core/service/load-balancer-quota.ts";

/** Requests to Elastic Load Balancing that `doctor` and the default of `loadBalancers.max` need. */
export const ACCOUNT_LIMIT_READS = {
  "elb:DescribeAccountLimits": ClassicLimits,
  "elbv2:DescribeAccountLimits": NetworkLimits,
} as const satisfies Commands;

/**
 * Limits of an account in a region by AWS's names, such as `network-load-balancers`; both versions of the API
 * use distinct names.
 */
export type AccountLimits = Readonly<Record<string, number>>;

/** Load balancers and target groups that exist in an account's region. */
export interface AccountUse {
  /** Names of load balancers. */
  readonly network: ReadonlySet<string>;
  readonly classic: ReadonlySet<string>;
  readonly targetGroups: number;
}

/** Reads the account's limits from both versions of Elastic Load Balancing. */
export async function readAccountLimits(session: Session<Api>): Promise<Outcome<AccountLimits>> {
  const limits: Record<string, number> = {};
  for (const operation of ["elbv2:DescribeAccountLimits", "elb:DescribeAccountLimits"] as const) {
    const listing = await readAllPages(operation, async (next) => {
      const request = next === undefined ? {} : { Marker: next };
      const answer = await session.send(operation, (api, signal) => api.call(operation, request, signal));
      if (answer.kind === "fault") return answer;
      const { Limits: values, NextMarker } = answer.value as LimitsAnswer;
      return ok({ values, next: NextMarker });
    });
    if (listing.kind === "fault") return listing;
    for (const { Name: name, Max: max } of listing.value) {
      const limit = Number(max);
      if (name !== undefined && max !== undefined && Number.isFinite(limit)) limits[name] = limit;
    }
  }
  return ok(limits);
}

/** Limits in the answers of both versions. */
interface LimitsAnswer {
  readonly Limits?: { readonly Name?: string; readonly Max?: string }[];
  readonly NextMarker?: string;
}

/** Lists the resources that count against these limits. */
export async function readAccountUse(session: Session<Api>): Promise<Outcome<AccountUse>> {
  const read = createReader(session);
  const balancers = await readAllPages("elbv2:DescribeLoadBalancers", async (next) => {
    const answer = await read("elbv2:DescribeLoadBalancers", buildMarker(next));
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancers, next: answer.value.NextMarker });
  });
  if (balancers.kind === "fault") return balancers;
  const classic = await readAllPages("elb:DescribeLoadBalancers", async (next) => {
    const answer = await read("elb:DescribeLoadBalancers", buildMarker(next));
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancerDescriptions, next: answer.value.NextMarker });
  });
  if (classic.kind === "fault") return classic;
  const groups = await readAllPages("elbv2:DescribeTargetGroups", async (next) => {
    const answer = await read("elbv2:DescribeTargetGroups", buildMarker(next));
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.TargetGroups, next: answer.value.NextMarker });
  });
  if (groups.kind === "fault") return groups;
  const network = balancers.value.filter(({ Type: type }) => type === "network");
  return ok({
    network: new Set(network.map(({ LoadBalancerName: name }) => name ?? "")),
    classic: new Set(classic.value.map(({ LoadBalancerName: name }) => name ?? "")),
    targetGroups: groups.value.length,
  });
}

function buildMarker(next: string | undefined): { Marker?: string } {
  return next === undefined ? {} : { Marker: next };
}

/** Account quotas for what Services need, cached by one process. */
interface AccountQuotas {
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
  [LISTENERS_KEY]: "target-groups",
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

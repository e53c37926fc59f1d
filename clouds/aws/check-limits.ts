import type { AccountLimits, AccountUse } from "#clouds/aws/account-limits.ts";
import { getLoadBalancerKind } from "#clouds/aws/load-balancers/kind.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { LoadBalancerNeeds } from "#clouds/diagnosis.ts";
import { type CheckResult, reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Checks whether the existing and requested resources of a cluster's Services fit the account's limits in the
 * region. AWS does not publish some limits.
 */
export function checkLimits(limits: AccountLimits, use: AccountUse, needs: LoadBalancerNeeds): CheckResult {
  const lines = buildLimitLines(use, needs).flatMap((line) => {
    const most = limits[line.limit];
    return most === undefined ? [] : [{ ...line, most }];
  });
  if (lines.length === 0) return reportWarning("AWS returned no load balancer limits", REMEDY);
  const words = lines.map(formatLine).join("; ");
  const beyond = lines.filter(({ has, more, most }) => has + more > most);
  const refused = beyond.filter(({ isCut }) => !isCut);
  if (refused.length > 0) return reportFailure(words, `${formatLineNames(refused)}: ${REMEDY}`);
  const near = lines.filter(({ has, more, most }) => has + more >= NEARLY * most);
  if (near.length > 0) return reportWarning(words, `${formatLineNames(near)}: ${REMEDY}`);
  const accountMost = getMaxBalancers(limits);
  return needs.max !== undefined && accountMost !== undefined && needs.max > accountMost
    ? reportWarning(`${words}; loadBalancers.max is ${needs.max}`, SHARE)
    : reportOk(words);
}

/** The limit of the load balancer type for which the account may have more. */
function getMaxBalancers(limits: AccountLimits): number | undefined {
  const known = BALANCER_LIMITS.flatMap((name) => limits[name] ?? []);
  return known.length === 0 ? undefined : Math.max(...known);
}

const BALANCER_LIMITS = ["network-load-balancers", "classic-load-balancers"];
const SHARE =
  "set loadBalancers.max to the cluster's share of what the account may have: one cluster could take the places of all";

const NEARLY = 0.9;
const REMEDY =
  "have the account's quota raised (aws service-quotas list-service-quotas --service-code elasticloadbalancing names them), or do with fewer Services, ports or nodes";

/** What counts against one limit. */
interface Line {
  /** AWS's name of the limit. */
  readonly limit: string;
  readonly name: string;
  readonly has: number;
  /** Additional need of Services. */
  readonly more: number;
  /** Beyond this limit AWS takes a part of the request; beyond all others it rejects the request. */
  readonly isCut?: boolean;
}

function buildLimitLines(use: AccountUse, { services, nodes }: LoadBalancerNeeds): readonly Line[] {
  const [network, classic] = [selectServices(services, "network"), selectServices(services, "classic")];
  const [noNetwork, noClassic] = [selectMissing(network, use.network), selectMissing(classic, use.classic)];
  const zones = countInstancesByZone(nodes);
  const [targets, perZone] = [sum(zones), Math.max(0, ...zones)];
  const [networkPorts, classicPorts] = [getMaxPorts(network), getMaxPorts(classic)];
  const lines: Line[] = [
    {
      limit: "network-load-balancers",
      name: "network load balancers",
      has: use.network.size,
      more: noNetwork.length,
    },
    {
      limit: "target-groups",
      name: "target groups",
      has: use.targetGroups,
      more: sum(noNetwork.map(countPorts)),
    },
    {
      limit: "classic-load-balancers",
      name: "classic load balancers",
      has: use.classic.size,
      more: noClassic.length,
    },
  ];
  if (network.length > 0)
    lines.push(
      {
        limit: "listeners-per-network-load-balancer",
        name: "listeners of a network one",
        has: networkPorts,
        more: 0,
      },
      {
        limit: "targets-per-network-load-balancer",
        name: "targets of a network one",
        has: targets * networkPorts,
        more: 0,
        isCut: true,
      },
      {
        limit: "targets-per-availability-zone-per-network-load-balancer",
        name: "targets of a network one in a zone",
        has: perZone * networkPorts,
        more: 0,
        isCut: true,
      },
    );
  if (classic.length > 0)
    lines.push(
      { limit: "classic-listeners", name: "listeners of a classic one", has: classicPorts, more: 0 },
      { limit: "classic-registered-instances", name: "instances of a classic one", has: targets, more: 0 },
    );
  return lines;
}

function selectServices(services: readonly Service[], kind: "network" | "classic"): readonly Service[] {
  return services.filter((service) => getLoadBalancerKind(service) === kind);
}

/** Selects the Services that have no load balancer yet. */
function selectMissing(services: readonly Service[], there: ReadonlySet<string>): readonly Service[] {
  return services.filter(({ metadata }) => !there.has(formatLoadBalancerName(metadata.uid) ?? ""));
}

/** Counts ports: TCP and UDP with one number share one listener and one target group. */
function countPorts({ spec }: Service): number {
  return new Set(spec.ports?.map(({ port }) => port)).size;
}

function getMaxPorts(services: readonly Service[]): number {
  return Math.max(0, ...services.map(countPorts));
}

/** Counts the instances of each zone, as far as provider IDs name it. */
function countInstancesByZone(nodes: LoadBalancerNeeds["nodes"]): readonly number[] {
  const counts = new Map<string, number>();
  for (const { providerID = "" } of nodes) {
    if (parseProviderID(providerID).kind !== "instance") continue;
    const [, zone = ""] = /^aws:\/\/[^/]*\/([^/]+)\//.exec(providerID) ?? [];
    counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  return [...counts.values()];
}

function formatLine({ name, has, more, most }: Line & { readonly most: number }): string {
  return `${name} ${has}${more === 0 ? "" : ` and ${more} asked for,`} of ${most}`;
}

function formatLineNames(lines: readonly Line[]): string {
  return lines.map(({ name }) => name).join(", ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

import type { AccountLimits, AccountUse } from "#clouds/aws/account-limits.ts";
import { getLoadBalancerKind } from "#clouds/aws/load-balancers/measure.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
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
    const max = limits[line.limit];
    return max === undefined ? [] : [{ ...line, max }];
  });
  if (lines.length === 0) return reportWarning("AWS returned no load balancer limits", REMEDY);
  const summary = lines.map(formatLine).join("; ");
  const exceeded = lines.filter(({ current, additional, max }) => current + additional > max);
  const rejected = exceeded.filter(({ isCut }) => !isCut);
  if (rejected.length > 0) return reportFailure(summary, `${formatLineNames(rejected)}: ${REMEDY}`);
  const nearlyExceeded = lines.filter(
    ({ current, additional, max }) => current + additional >= NEARLY_EXCEEDED * max,
  );
  if (nearlyExceeded.length > 0)
    return reportWarning(summary, `${formatLineNames(nearlyExceeded)}: ${REMEDY}`);
  const accountMax = getMaxBalancers(limits);
  return needs.max !== undefined && accountMax !== undefined && needs.max > accountMax
    ? reportWarning(`${summary}; loadBalancers.max is ${needs.max}`, SHARE)
    : reportOk(summary);
}

/** Returns the higher of the account's limits for network and classic load balancers. */
function getMaxBalancers(limits: AccountLimits): number | undefined {
  const maxima = BALANCER_LIMITS.flatMap((name) => limits[name] ?? []);
  return maxima.length === 0 ? undefined : Math.max(...maxima);
}

const BALANCER_LIMITS = ["network-load-balancers", "classic-load-balancers"];
const SHARE =
  "set loadBalancers.max to the cluster's share of what the account may have: otherwise one cluster can use up the account's limit";

const NEARLY_EXCEEDED = 0.9;
const REMEDY =
  "request a higher quota (list them with aws service-quotas list-service-quotas --service-code elasticloadbalancing), or use fewer Services, ports or nodes";

/** What counts against one limit. */
interface Line {
  /** AWS's name of the limit. */
  readonly limit: string;
  readonly name: string;
  readonly current: number;
  /** Additional need of Services. */
  readonly additional: number;
  /** Beyond this limit AWS takes a part of the request; beyond all others it rejects the request. */
  readonly isCut?: boolean;
}

function buildLimitLines(use: AccountUse, { services, nodes }: LoadBalancerNeeds): readonly Line[] {
  const [network, classic] = [selectServices(services, "network"), selectServices(services, "classic")];
  const zones = countInstancesByZone(nodes);
  return [
    ...buildAccountLines(use, network, classic),
    ...(network.length === 0 ? [] : buildNetworkLines(getMaxPorts(network), zones)),
    ...(classic.length === 0 ? [] : buildClassicLines(getMaxPorts(classic), zones)),
  ];
}

/** Builds the lines of limits on all load balancers of the account. */
function buildAccountLines(
  use: AccountUse,
  network: readonly Service[],
  classic: readonly Service[],
): readonly Line[] {
  const missingNetwork = selectMissing(network, use.network);
  return [
    {
      limit: "network-load-balancers",
      name: "network load balancers",
      current: use.network.size,
      additional: missingNetwork.length,
    },
    {
      limit: "target-groups",
      name: "target groups",
      current: use.targetGroups,
      additional: sum(missingNetwork.map(countPorts)),
    },
    {
      limit: "classic-load-balancers",
      name: "classic load balancers",
      current: use.classic.size,
      additional: selectMissing(classic, use.classic).length,
    },
  ];
}

/** Builds the lines of limits on one network load balancer with this number of ports. */
function buildNetworkLines(ports: number, zones: readonly number[]): readonly Line[] {
  return [
    {
      limit: "listeners-per-network-load-balancer",
      name: "listeners per network load balancer",
      current: ports,
      additional: 0,
    },
    {
      limit: "targets-per-network-load-balancer",
      name: "targets per network load balancer",
      current: sum(zones) * ports,
      additional: 0,
      isCut: true,
    },
    {
      limit: "targets-per-availability-zone-per-network-load-balancer",
      name: "targets per network load balancer and zone",
      current: Math.max(0, ...zones) * ports,
      additional: 0,
      isCut: true,
    },
  ];
}

/** Builds the lines of limits on one classic load balancer with this number of ports. */
function buildClassicLines(ports: number, zones: readonly number[]): readonly Line[] {
  return [
    {
      limit: "classic-listeners",
      name: "listeners per classic load balancer",
      current: ports,
      additional: 0,
    },
    {
      limit: "classic-registered-instances",
      name: "instances per classic load balancer",
      current: sum(zones),
      additional: 0,
    },
  ];
}

function selectServices(services: readonly Service[], kind: "network" | "classic"): readonly Service[] {
  return services.filter((service) => getLoadBalancerKind(service) === kind);
}

/** Selects the Services that have no load balancer yet. */
function selectMissing(services: readonly Service[], existingNames: ReadonlySet<string>): readonly Service[] {
  return services.filter(({ metadata }) => !existingNames.has(formatLoadBalancerName(metadata.uid) ?? ""));
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

function formatLine({ name, current, additional, max }: Line & { readonly max: number }): string {
  return `${name} ${current}${additional === 0 ? "" : ` and ${additional} requested,`} of ${max}`;
}

function formatLineNames(lines: readonly Line[]): string {
  return lines.map(({ name }) => name).join(", ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

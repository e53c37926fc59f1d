import type { AccountLimits, AccountUse } from "#clouds/aws/account-limits.ts";
import { kindOf } from "#clouds/aws/load-balancers/kind.ts";
import { loadBalancerNameOf } from "#clouds/aws/load-balancers/load-balancer-name.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import type { LoadBalancerNeeds } from "#clouds/diagnosis.ts";
import { type Finding, failed, ok, warning } from "#core/finding.ts";
import type { Service } from "#core/service/service.ts";

/** Whether what a cluster's Services have and ask for is within what the account may have in the region; of some limits AWS says nothing. */
export function limitsFinding(limits: AccountLimits, use: AccountUse, needs: LoadBalancerNeeds): Finding {
  const lines = linesOf(use, needs).flatMap((line) => {
    const most = limits[line.limit];
    return most === undefined ? [] : [{ ...line, most }];
  });
  if (lines.length === 0) return warning("AWS told none of the limits that load balancers have", REMEDY);
  const words = lines.map(inWords).join("; ");
  const beyond = lines.filter(({ has, more, most }) => has + more > most);
  const refused = beyond.filter(({ isCut }) => !isCut);
  if (refused.length > 0) return failed(words, `${namesOf(refused)}: ${REMEDY}`);
  const near = lines.filter(({ has, more, most }) => has + more >= NEARLY * most);
  if (near.length > 0) return warning(words, `${namesOf(near)}: ${REMEDY}`);
  const accountMost = mostBalancers(limits);
  return needs.max !== undefined && accountMost !== undefined && needs.max > accountMost
    ? warning(`${words}; loadBalancers.max is ${needs.max}`, SHARE)
    : ok(words);
}

/** How many load balancers of one kind the account may have, of the kind that it may have more of. */
function mostBalancers(limits: AccountLimits): number | undefined {
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
  /** What Services ask for beside that. */
  readonly more: number;
  /** Of more than AWS takes, a part is taken, where all else is refused. */
  readonly isCut?: boolean;
}

function linesOf(use: AccountUse, { services, nodes }: LoadBalancerNeeds): readonly Line[] {
  const [network, classic] = [ofKind(services, "network"), ofKind(services, "classic")];
  const [noNetwork, noClassic] = [missing(network, use.network), missing(classic, use.classic)];
  const zones = zonesOf(nodes);
  const [targets, perZone] = [sum(zones), Math.max(0, ...zones)];
  const [networkPorts, classicPorts] = [mostPorts(network), mostPorts(classic)];
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
      more: sum(noNetwork.map(portsOf)),
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

function ofKind(services: readonly Service[], kind: "network" | "classic"): readonly Service[] {
  return services.filter((service) => kindOf(service) === kind);
}

/** Those whose load balancer is not among them. */
function missing(services: readonly Service[], there: ReadonlySet<string>): readonly Service[] {
  return services.filter(({ metadata }) => !there.has(loadBalancerNameOf(metadata.uid) ?? ""));
}

/** TCP and UDP of one number are one listener, and one target group. */
function portsOf({ spec }: Service): number {
  return new Set(spec.ports?.map(({ port }) => port)).size;
}

function mostPorts(services: readonly Service[]): number {
  return Math.max(0, ...services.map(portsOf));
}

/** How many instances each zone has, as far as provider IDs tell. */
function zonesOf(nodes: LoadBalancerNeeds["nodes"]): readonly number[] {
  const counts = new Map<string, number>();
  for (const { providerID = "" } of nodes) {
    if (parseProviderID(providerID).kind !== "instance") continue;
    const [, zone = ""] = /^aws:\/\/[^/]*\/([^/]+)\//.exec(providerID) ?? [];
    counts.set(zone, (counts.get(zone) ?? 0) + 1);
  }
  return [...counts.values()];
}

function inWords({ name, has, more, most }: Line & { readonly most: number }): string {
  return `${name} ${has}${more === 0 ? "" : ` and ${more} asked for,`} of ${most}`;
}

function namesOf(lines: readonly Line[]): string {
  return lines.map(({ name }) => name).join(", ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

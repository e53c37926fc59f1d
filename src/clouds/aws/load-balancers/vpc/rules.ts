import type { IpPermission } from "@aws-sdk/client-ec2";
import type { Opening } from "#clouds/aws/load-balancers/types.ts";
import { isIPv6Network } from "#core/cidr.ts";

/** One rule of a security group: one protocol and port range, from one network, group or prefix list. */
export interface Rule {
  readonly protocol: string;
  /** For ICMP type and code; undefined for all. */
  readonly ports: readonly [from: number, to: number] | undefined;
  readonly from: "ipv4" | "ipv6" | "group" | "prefix-list";
  /** The network, or the id. */
  readonly peer: string;
  readonly description: string | undefined;
}

/** Parses EC2's grouped permissions to rules. */
export function parsePermissions(permissions: readonly IpPermission[]): Rule[] {
  return permissions.flatMap((permission) => {
    const protocol = parseProtocol(permission.IpProtocol ?? "-1");
    const ports = parsePortRange(permission);
    const rule = (from: Rule["from"], peer: string | undefined, description: string | undefined): Rule[] =>
      peer === undefined ? [] : [{ protocol, ports, from, peer: peer.toLowerCase(), description }];
    return [
      ...(permission.IpRanges ?? []).flatMap((each) => rule("ipv4", each.CidrIp, each.Description)),
      ...(permission.Ipv6Ranges ?? []).flatMap((each) => rule("ipv6", each.CidrIpv6, each.Description)),
      ...(permission.UserIdGroupPairs ?? []).flatMap((each) => rule("group", each.GroupId, each.Description)),
      ...(permission.PrefixListIds ?? []).flatMap((each) =>
        rule("prefix-list", each.PrefixListId, each.Description),
      ),
    ];
  });
}

/** Builds the rules of openings. */
export function buildRules(openings: readonly Opening[]): Rule[] {
  return openings.flatMap(({ protocol, ports, cidrs = [], groupIds = [], description }) => {
    const rule = (from: Rule["from"], peer: string): Rule => ({
      protocol: parseProtocol(protocol),
      ports: protocol === "-1" ? undefined : ports,
      from,
      peer: peer.toLowerCase(),
      description,
    });
    return [
      ...cidrs.map((cidr) => rule(isIPv6Network(cidr) ? "ipv6" : "ipv4", cidr)),
      ...groupIds.map((id) => rule("group", id)),
    ];
  });
}

/** Builds the permissions of a request, grouped by protocol and port range. */
export function buildPermissions(rules: readonly Rule[]): IpPermission[] {
  const byPorts = Map.groupBy(rules, ({ protocol, ports }) => `${protocol} ${ports?.join("-")}`);
  return [...byPorts.values()].flatMap((rulesOfPorts) => {
    const [first] = rulesOfPorts;
    if (first === undefined) return [];
    const selectRules = (from: Rule["from"]): readonly Rule[] =>
      rulesOfPorts.filter((rule) => rule.from === from);
    const buildDescription = ({ description }: Rule): { Description?: string } =>
      description === undefined ? {} : { Description: description };
    const [ipv4, ipv6, groups, lists] = [
      selectRules("ipv4"),
      selectRules("ipv6"),
      selectRules("group"),
      selectRules("prefix-list"),
    ];
    return {
      IpProtocol: first.protocol,
      ...(first.ports === undefined ? {} : { FromPort: first.ports[0], ToPort: first.ports[1] }),
      ...(ipv4.length === 0
        ? {}
        : { IpRanges: ipv4.map((rule) => ({ CidrIp: rule.peer, ...buildDescription(rule) })) }),
      ...(ipv6.length === 0
        ? {}
        : { Ipv6Ranges: ipv6.map((rule) => ({ CidrIpv6: rule.peer, ...buildDescription(rule) })) }),
      ...(groups.length === 0
        ? {}
        : { UserIdGroupPairs: groups.map((rule) => ({ GroupId: rule.peer, ...buildDescription(rule) })) }),
      ...(lists.length === 0
        ? {}
        : { PrefixListIds: lists.map((rule) => ({ PrefixListId: rule.peer, ...buildDescription(rule) })) }),
    };
  });
}

/** Formats a key that is equal for rules that EC2 treats as equal, whatever their descriptions. */
export function formatRuleKey({ protocol, ports, from, peer }: Rule): string {
  return JSON.stringify([protocol, ports ?? null, from, peer]);
}

/** Returns the rules that are not among the others, each once. */
export function subtractRules(rules: readonly Rule[], others: readonly Rule[]): Rule[] {
  const otherKeys = new Set(others.map(formatRuleKey));
  return [...new Map(rules.map((rule) => [formatRuleKey(rule), rule])).values()].filter(
    (rule) => !otherKeys.has(formatRuleKey(rule)),
  );
}

/** AWS's default quota of rules per IP family in a security group. Rules from groups and prefix lists count in both. */
const MAX_RULES = 60;

/**
 * Returns whether obsolete rules are removed before missing ones are added: the group has no room for both, but has
 * room for the result. A group with more rules than the default has a higher quota, of at least as many. Without room
 * for the result nothing is removed first, because AWS rejects the missing rules for good.
 */
export function needsRemovalFirst(
  actual: readonly Rule[],
  missing: readonly Rule[],
  surplus: readonly Rule[],
): boolean {
  const families = (["ipv4", "ipv6"] as const).map((family) => {
    const other = family === "ipv4" ? "ipv6" : "ipv4";
    const count = (rules: readonly Rule[]): number => rules.filter(({ from }) => from !== other).length;
    const both = count(actual) + count(missing);
    const quota = Math.max(MAX_RULES, count(actual));
    return { hasRoom: both <= quota, isPossible: both - count(surplus) <= quota };
  });
  return families.some(({ hasRoom }) => !hasRoom) && families.every(({ isPossible }) => isPossible);
}

/** Merges consecutive or overlapping port ranges of rules that differ in nothing else. */
export function mergeRules(rules: readonly Rule[]): Rule[] {
  const rulesByKey = Map.groupBy(rules, ({ ports, ...rest }) => JSON.stringify([rest, ports === undefined]));
  return [...rulesByKey.values()].flatMap((rulesOfKey) => {
    // For ICMP these are type and code, not a range.
    if (!rulesOfKey.every(({ protocol }) => protocol === "tcp" || protocol === "udp")) return rulesOfKey;
    return rulesOfKey
      .toSorted((a, b) => (a.ports?.[0] ?? 0) - (b.ports?.[0] ?? 0))
      .reduce<Rule[]>(joinRule, []);
  });
}

function joinRule(merged: Rule[], rule: Rule): Rule[] {
  const last = merged.at(-1);
  if (last?.ports === undefined || rule.ports === undefined || rule.ports[0] > last.ports[1] + 1) {
    return [...merged, rule];
  }
  const ports = [last.ports[0], Math.max(last.ports[1], rule.ports[1])] as const;
  return [...merged.slice(0, -1), { ...last, ports }];
}

/** EC2 shows these protocol numbers as names. */
const PROTOCOL_NAMES: Readonly<Record<string, string>> = { 1: "icmp", 6: "tcp", 17: "udp", 58: "icmpv6" };

function parseProtocol(text: string): string {
  const name = text.toLowerCase();
  return PROTOCOL_NAMES[name] ?? (name === "all" ? "-1" : name);
}

function parsePortRange({ IpProtocol: protocol, FromPort: from, ToPort: to }: IpPermission): Rule["ports"] {
  return protocol === "-1" || from === undefined || to === undefined ? undefined : [from, to];
}

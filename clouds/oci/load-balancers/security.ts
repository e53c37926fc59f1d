import type { Rule, SeenGroup } from "#clouds/oci/load-balancers/state.ts";
import type { WantedPort } from "#clouds/oci/load-balancers/wanted/ports.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { canonicalCidr, isIPv6Network } from "#core/cidr.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The API takes so many rules in one request. */
const BATCH = 25;

/** A group has room for so many rules. */
export const MAX_RULES = 120;

/** What rules of ours are described as in groups that others have rules in, too. */
export function descriptionOf(uid: string): string {
  return `serverless-ccm ${uid}`;
}

/** The rules of the managed group: clients come in, and what goes to backends goes out. */
export function frontRules(wanted: Wanted, uid: string, backendGroups: readonly string[]): readonly Rule[] {
  const incoming = wanted.ports.flatMap((port) =>
    rangesOf(wanted, port).flatMap((source) =>
      protocolsOf(port).map((protocol) =>
        ingress(uid, { protocol, port: port.port, source, sourceType: "CIDR_BLOCK" }),
      ),
    ),
  );
  const outgoing = backendGroups.flatMap((destination) =>
    backendPorts(wanted).map(
      ([protocol, port]): Rule => ({
        ...{ direction: "EGRESS", protocol, destination, destinationType: "NETWORK_SECURITY_GROUP" },
        ...{ isStateless: false, description: descriptionOf(uid), ...portsOf(protocol, port) },
      }),
    ),
  );
  return distinct([...incoming, ...outgoing]);
}

/** The rules of a group of backends: what comes from the load balancer comes in, and clients where backends see their addresses. */
export function backRules(wanted: Wanted, uid: string, frontGroup: string): readonly Rule[] {
  const fromFront = backendPorts(wanted).map(([protocol, port]) =>
    ingress(uid, { protocol, port, source: frontGroup, sourceType: "NETWORK_SECURITY_GROUP" }),
  );
  const fromClients = wanted.preservesSource
    ? wanted.ports.flatMap((port) =>
        rangesOf(wanted, port).flatMap((source) =>
          protocolsOf(port).map((protocol) =>
            ingress(uid, { protocol, port: port.nodePort, source, sourceType: "CIDR_BLOCK" }),
          ),
        ),
      )
    : [];
  return distinct([...fromFront, ...fromClients]);
}

/** The next batch of rules that a group lacks. */
export function missingRules(group: SeenGroup, wanted: readonly Rule[]): LoadBalancerAction | undefined {
  const there = new Set(group.rules.map(keyOf));
  const missing = wanted.filter((rule) => !there.has(keyOf(rule))).slice(0, BATCH);
  if (missing.length === 0) return undefined;
  return {
    action: "vcn:AddSecurityRules",
    target: group.group.id,
    parameters: { body: { securityRules: missing } },
  };
}

/** The next batch of rules that a group has too many, of those that are ours; one that is there twice is one too many. */
export function superfluousRules(
  group: SeenGroup,
  wanted: readonly Rule[],
  isOurs: (rule: Rule) => boolean,
): LoadBalancerAction | undefined {
  const keys = new Set(wanted.map(keyOf));
  const superfluous: string[] = [];
  for (const rule of group.rules) {
    if (!isOurs(rule) || keys.delete(keyOf(rule)) || rule.id == null) continue;
    superfluous.push(rule.id);
  }
  if (superfluous.length === 0) return undefined;
  const body = { securityRuleIds: superfluous.slice(0, BATCH) };
  return { action: "vcn:RemoveSecurityRules", target: group.group.id, parameters: { body } };
}

/** The groups of backends that a managed group sends to. */
export function backendGroupsOf({ rules }: SeenGroup): readonly string[] {
  const groups = rules.flatMap(({ direction, destination, destinationType }) =>
    direction === "EGRESS" && destinationType === "NETWORK_SECURITY_GROUP" ? (destination ?? []) : [],
  );
  return [...new Set(groups)].sort();
}

function keyOf(rule: Rule): string {
  const { direction, protocol, source, sourceType, destination, destinationType } = rule;
  const range = (rule.tcpOptions ?? rule.udpOptions)?.destinationPortRange;
  const [peerOf, type] = direction === "INGRESS" ? [source, sourceType] : [destination, destinationType];
  // The API need not spell a network as it was told.
  const peer = [canonicalCidr(peerOf ?? "") ?? peerOf, type];
  return [direction, protocol, ...peer, range?.min, range?.max, rule.isStateless === true].join(" ");
}

function distinct(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [keyOf(rule), rule])).values()];
}

/** Node ports of all that is served, and of the health check. */
function backendPorts({
  ports,
  healthCheck,
}: Wanted): readonly (readonly [protocol: string, port: number])[] {
  const served = ports.flatMap((port) =>
    protocolsOf(port).map((protocol) => [protocol, port.nodePort] as const),
  );
  return [...served, [TCP, healthCheck.port] as const];
}

function rangesOf({ sourceRanges }: Wanted, { family }: WantedPort): readonly string[] {
  return sourceRanges.filter((range) => isIPv6Network(range) === (family === "IPv6"));
}

/** As IANA numbers them. */
const TCP = "6";
const UDP = "17";

function protocolsOf({ protocol }: WantedPort): readonly string[] {
  if (protocol === "TCP_AND_UDP") return [TCP, UDP];
  return [protocol === "UDP" ? UDP : TCP];
}

function ingress(
  uid: string,
  from: {
    readonly protocol: string;
    readonly port: number;
    readonly source: string;
    readonly sourceType: string;
  },
): Rule {
  const { protocol, port, source, sourceType } = from;
  return {
    ...{ direction: "INGRESS", protocol, source, sourceType, isStateless: false },
    ...{ description: descriptionOf(uid), ...portsOf(protocol, port) },
  };
}

function portsOf(protocol: string, port: number): Pick<Rule, "tcpOptions" | "udpOptions"> {
  const options = { destinationPortRange: { min: port, max: port } };
  return protocol === UDP ? { udpOptions: options } : { tcpOptions: options };
}

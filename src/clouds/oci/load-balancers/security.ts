import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import type { DesiredPort } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import type { ObservedGroup, Rule } from "#clouds/oci/load-balancers/state.ts";
import { canonicalizeCidr, isIPv6Network } from "#core/cidr.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The API's maximum of rules per request. */
const BATCH = 25;

/** The maximum of rules per group. */
export const MAX_RULES = 120;

/** Formats the description of our rules in groups that also hold rules of others. */
export function formatRuleDescription(uid: string): string {
  return `serverless-ccm ${uid}`;
}

/** Builds the rules of the managed group: inbound from clients, outbound to backends. */
export function buildFrontRules(
  desired: DesiredState,
  uid: string,
  backendGroups: readonly string[],
): readonly Rule[] {
  const incoming = desired.ports.flatMap((port) =>
    selectSourceRanges(desired, port).flatMap((source) =>
      listProtocols(port).map((protocol) =>
        buildIngressRule(uid, { protocol, port: port.port, source, sourceType: "CIDR_BLOCK" }),
      ),
    ),
  );
  const outgoing = backendGroups.flatMap((destination) =>
    listBackendPorts(desired).map(
      ([protocol, port]): Rule => ({
        ...{ direction: "EGRESS", protocol, destination, destinationType: "NETWORK_SECURITY_GROUP" },
        ...{
          isStateless: false,
          description: formatRuleDescription(uid),
          ...buildPortOptions(protocol, port),
        },
      }),
    ),
  );
  return removeDuplicates([...incoming, ...outgoing]);
}

/**
 * Builds the rules of a backend group: inbound from the load balancer, and from clients if backends see their
 * addresses.
 */
export function buildBackRules(desired: DesiredState, uid: string, frontGroup: string): readonly Rule[] {
  const fromFront = listBackendPorts(desired).map(([protocol, port]) =>
    buildIngressRule(uid, { protocol, port, source: frontGroup, sourceType: "NETWORK_SECURITY_GROUP" }),
  );
  const fromClients = desired.preservesSource
    ? desired.ports.flatMap((port) =>
        selectSourceRanges(desired, port).flatMap((source) =>
          listProtocols(port).map((protocol) =>
            buildIngressRule(uid, { protocol, port: port.nodePort, source, sourceType: "CIDR_BLOCK" }),
          ),
        ),
      )
    : [];
  return removeDuplicates([...fromFront, ...fromClients]);
}

/** The next batch of rules that a group lacks. */
interface MissingRules {
  readonly add: LoadBalancerAction;
  /** The group has no room for them, and has room for all desired rules once obsolete ones are removed. */
  readonly isRoomNeeded: boolean;
}

/** Plans the next batch of rules that a group lacks. */
export function planMissingRules(
  group: ObservedGroup,
  desiredRules: readonly Rule[],
  isOurs: (rule: Rule) => boolean,
): MissingRules | undefined {
  const currentKeys = new Set(group.rules.map(formatRuleKey));
  const missing = desiredRules.filter((rule) => !currentKeys.has(formatRuleKey(rule)));
  if (missing.length === 0) return undefined;
  const batch = missing.slice(0, BATCH);
  const kept = group.rules.length - listSuperfluousRules(group, desiredRules, isOurs).length;
  return {
    add: {
      action: "vcn:AddSecurityRules",
      target: group.group.id,
      parameters: { body: { securityRules: batch } },
    },
    isRoomNeeded: group.rules.length + batch.length > MAX_RULES && kept + missing.length <= MAX_RULES,
  };
}

/** Plans the removal of the next batch of obsolete rules of ours. */
export function planSuperfluousRules(
  group: ObservedGroup,
  desiredRules: readonly Rule[],
  isOurs: (rule: Rule) => boolean,
): LoadBalancerAction | undefined {
  const superfluous = listSuperfluousRules(group, desiredRules, isOurs);
  if (superfluous.length === 0) return undefined;
  const body = { securityRuleIds: superfluous.slice(0, BATCH) };
  return { action: "vcn:RemoveSecurityRules", target: group.group.id, parameters: { body } };
}

/** Lists the ids of obsolete rules of ours; a duplicate is obsolete too. */
function listSuperfluousRules(
  group: ObservedGroup,
  desiredRules: readonly Rule[],
  isOurs: (rule: Rule) => boolean,
): readonly string[] {
  const keys = new Set(desiredRules.map(formatRuleKey));
  return group.rules.flatMap((rule) =>
    !isOurs(rule) || keys.delete(formatRuleKey(rule)) || rule.id == null ? [] : [rule.id],
  );
}

/** Lists the backend groups that a managed group targets. */
export function listBackendGroups({ rules }: Pick<ObservedGroup, "rules">): readonly string[] {
  const groups = rules.flatMap(({ direction, destination, destinationType }) =>
    direction === "EGRESS" && destinationType === "NETWORK_SECURITY_GROUP" ? (destination ?? []) : [],
  );
  return [...new Set(groups)].sort();
}

function formatRuleKey(rule: Rule): string {
  const { direction, protocol, source, sourceType, destination, destinationType } = rule;
  const range = (rule.tcpOptions ?? rule.udpOptions)?.destinationPortRange;
  const [peerAddress, type] = direction === "INGRESS" ? [source, sourceType] : [destination, destinationType];
  const peer = [formatNetwork(peerAddress), type];
  return [direction, protocol, ...peer, range?.min, range?.max, rule.isStateless === true].join(" ");
}

/** Formats a network, or the id of a group, for comparison: the API may spell a network differently. */
export function formatNetwork(written: string | null | undefined): string {
  return canonicalizeCidr(written ?? "") ?? written ?? "";
}

function removeDuplicates(rules: readonly Rule[]): readonly Rule[] {
  return [...new Map(rules.map((rule) => [formatRuleKey(rule), rule])).values()];
}

/** Lists the node ports of all listeners and of the health check. */
function listBackendPorts({
  ports,
  healthCheck,
}: DesiredState): readonly (readonly [protocol: string, port: number])[] {
  const served = ports.flatMap((port) =>
    listProtocols(port).map((protocol) => [protocol, port.nodePort] as const),
  );
  return [...served, [TCP, healthCheck.port] as const];
}

function selectSourceRanges({ sourceRanges }: DesiredState, { family }: DesiredPort): readonly string[] {
  return sourceRanges.filter((range) => isIPv6Network(range) === (family === "IPv6"));
}

/** IANA's protocol numbers. */
const TCP = "6";
const UDP = "17";

function listProtocols({ protocol }: DesiredPort): readonly string[] {
  if (protocol === "TCP_AND_UDP") return [TCP, UDP];
  return [protocol === "UDP" ? UDP : TCP];
}

function buildIngressRule(
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
    ...{ description: formatRuleDescription(uid), ...buildPortOptions(protocol, port) },
  };
}

function buildPortOptions(protocol: string, port: number): Pick<Rule, "tcpOptions" | "udpOptions"> {
  const options = { destinationPortRange: { min: port, max: port } };
  return protocol === UDP ? { udpOptions: options } : { tcpOptions: options };
}

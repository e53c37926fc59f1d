import type { Cloud } from "#clouds/cloud.ts";
import type { NoCloudConfig, NodeRule } from "#clouds/no-cloud/config.ts";
import { buildNoCloudAnswer } from "#clouds/no-cloud/instance.ts";
import { type Cidr, isWithin, parseCidr } from "#core/cidr.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { parseIp } from "#core/ip.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";

/**
 * Creates a cloud that answers from the node and the rules alone: it sends no request and never reports a
 * node as gone.
 */
export function createNoCloud({ rules = [] }: Pick<NoCloudConfig, "rules">): Cloud {
  const ruleOf = createRules(rules);
  const answerFor = (node: Node): InstanceAnswer => {
    const plain = buildNoCloudAnswer(node, { scheme: "no-cloud" });
    const rule = ruleOf(node.metadata.name, plain.instance.addresses);
    if (rule === undefined) return plain;
    const { instanceType: type = "", zone = "", region = "", labels = {} } = rule;
    return { kind: "found", instance: { ...plain.instance, type, zone, region, labels } };
  };
  return {
    provider: "no-cloud",
    async instances(nodes, { signal }) {
      const answers = nodes.map((node) => (signal.aborted ? ABORTED : answerFor(node)));
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

/**
 * Whether a pattern matches a whole text: `*` matches any characters, `?` one. Takes time proportional to the
 * product of both lengths.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let at = 0;
  let star: { readonly after: number; text: number } | undefined;
  let index = 0;
  while (index < text.length) {
    if (pattern[at] === "*") {
      at += 1;
      star = { after: at, text: index };
    } else if (pattern[at] === "?" || pattern[at] === text[index]) {
      at += 1;
      index += 1;
    } else if (star !== undefined) {
      // Only the last star must take more: earlier ones have already taken the least possible.
      star.text += 1;
      index = star.text;
      at = star.after;
    } else return false;
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

/**
 * Finds the first rule for a node of this name and these addresses; names and networks must both match if
 * both are given.
 */
type FindRule = (name: string, addresses: readonly NodeAddress[]) => NodeRule | undefined;

/** Networks are parsed once; names are matched each time. */
function createRules(rules: readonly NodeRule[]): FindRule {
  const prepared = rules.map((rule) => ({
    rule,
    networks: rule.networks?.flatMap((text) => parseCidr(text) ?? []),
  }));
  return (name, addresses) => {
    const ips = addresses
      .filter(({ type }) => type === "InternalIP" || type === "ExternalIP")
      .flatMap(toHostNetwork);
    return prepared.find(
      ({ rule: { names }, networks }) =>
        (names?.some((pattern) => matchesGlob(pattern, name)) ?? true) &&
        (networks?.some((network) => ips.some((ip) => isWithin(ip, network))) ?? true),
    )?.rule;
  };
}

/** Converts an address to the network that contains only it. */
function toHostNetwork({ address }: NodeAddress): Cidr[] {
  const ip = parseIp(address);
  return ip === undefined ? [] : [{ family: ip.family, first: ip.value, length: ip.family === 4 ? 32 : 128 }];
}

/**
 * Creates the node part of a cloud for load balancers only: nodes describe themselves, or are left to others.
 */
export function createNodesWithoutCloud(provider: string, nodes: "no-cloud" | "none"): Cloud {
  return {
    provider,
    async instances(asked, { signal }) {
      const answers = asked.map((node): InstanceAnswer => {
        if (signal.aborted) return ABORTED;
        return nodes === "none" ? LEFT : buildNoCloudAnswer(node, { scheme: provider });
      });
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

/** Nodes that no cloud answers for are not changed. */
const LEFT: InstanceAnswer = {
  kind: "error",
  code: "Unavailable",
  message:
    "nodes are left to others (cloud.nodes: none): take the node controllers out of the cluster's controllers",
};

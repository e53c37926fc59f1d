import { REGION_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { seenInstance } from "#core/node-lifecycle/identity.ts";

/**
 * Where an instance is. A part that is absent or empty is unknown, and so is a segment `-` of a network: a control of a cluster whose
 * servers are in several locations says `-/4711`, where its nodes say `fsn1/4711` and `nbg1/4711`.
 */
export interface Place {
  readonly account?: string | undefined;
  readonly network?: string | undefined;
  readonly region?: string | undefined;
}

/** A part of a place in which a node and a control differ; `node` and `control` are what each says. */
export interface PlaceDifference {
  readonly part: keyof Place;
  readonly node: string;
  readonly control: string;
}

/**
 * Returns where a node was seen: account and network of its annotation, and the region of its label. A tenant may write both, and hurts
 * itself alone: a place that is not the control's keeps the node.
 */
export function readPlace(node: Node): Place {
  const { labels = {} } = node.metadata;
  const seen = seenInstance(node);
  return {
    account: seen?.account,
    network: seen?.network,
    region: labels[REGION_LABELS.stable] || labels[REGION_LABELS.beta],
  };
}

/**
 * Compares where a node was seen with where a control is; undefined where nothing contradicts. Where the node's account is known, the
 * control's has to be known, too: without it nothing shows that the same account was asked. Network and region count where both know them.
 */
export function findDifference(node: Place, control: Place): PlaceDifference | undefined {
  const { account = "", network = "", region = "" } = node;
  const { account: otherAccount = "", network: otherNetwork = "", region: otherRegion = "" } = control;
  if (account !== "" && account !== otherAccount)
    return { part: "account", node: account, control: otherAccount };
  if (!isSameNetwork(network, otherNetwork)) return { part: "network", node: network, control: otherNetwork };
  if (region !== "" && otherRegion !== "" && region !== otherRegion)
    return { part: "region", node: region, control: otherRegion };
  return undefined;
}

function isSameNetwork(one: string, other: string): boolean {
  if (one === other || !isKnown(one) || !isKnown(other)) return true;
  const [segments, others] = [one.split("/"), other.split("/")];
  if (segments.length !== others.length) return false;
  return segments.every((segment, index) => {
    const counterpart = others[index];
    return !isKnown(segment) || !isKnown(counterpart) || segment === counterpart;
  });
}

function isKnown(segment: string | undefined): boolean {
  return !UNKNOWN.has(segment);
}

const UNKNOWN: ReadonlySet<string | undefined> = new Set([undefined, "", "-"]);

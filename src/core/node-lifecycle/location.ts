import { INSTANCE_ANNOTATION, REGION_LABELS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";

/**
 * The place of an instance. An absent or empty part is unknown, and so is a segment `-` of a network. If a
 * cluster has servers in several locations, its visibility probe has `-/4711` and its nodes have `fsn1/4711`
 * and `nbg1/4711`.
 */
export interface InstanceLocation {
  readonly account?: string | undefined;
  readonly network?: string | undefined;
  readonly region?: string | undefined;
}

/** A part in which the places of a node and a visibility probe differ, with both values. */
export interface LocationDifference {
  readonly part: keyof InstanceLocation;
  readonly node: string;
  readonly control: string;
}

/**
 * Returns the place in which a node was observed: account and network of its annotation, and the region of
 * its label. A tenant can write both and harms only itself: a place that differs from the probe's keeps the
 * node.
 */
export function readLocation(node: Node): InstanceLocation {
  const { labels = {} } = node.metadata;
  const observedInstance = parseObservedInstance(node);
  return {
    account: observedInstance?.account,
    network: observedInstance?.network,
    region: labels[REGION_LABELS.stable] || labels[REGION_LABELS.beta],
  };
}

/**
 * Returns the difference between the places of a node and a visibility probe; undefined if nothing
 * contradicts. If the node's account is known, the probe's must be known too, because otherwise nothing
 * proves that this account was asked. Network and region are compared if both are known.
 */
export function findDifference(
  node: InstanceLocation,
  control: InstanceLocation,
): LocationDifference | undefined {
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

/** The instance with which a node was observed. */
interface ObservedInstance {
  readonly account: string;
  /** In the cloud's format, such as `vpc-0123`, `fsn1/4711` or, if unknown, `-`. */
  readonly network: string;
  readonly id: string;
}

/**
 * Returns the instance with which a node was observed, if its provider ID still names it. Otherwise
 * undefined. Accounts and IDs contain no slash; networks may.
 */
export function parseObservedInstance({ metadata, spec }: Node): ObservedInstance | undefined {
  const [account, ...rest] = metadata.annotations?.[INSTANCE_ANNOTATION]?.split("/") ?? [];
  const id = rest.at(-1);
  if (account === undefined || id === undefined || id === "" || rest.length < 2) return undefined;
  const { providerID = "" } = spec;
  // Some kubelets, such as those of Oracle's own clusters, write the ID alone.
  return providerID === id || providerID.endsWith(`/${id}`)
    ? { account, network: rest.slice(0, -1).join("/"), id }
    : undefined;
}

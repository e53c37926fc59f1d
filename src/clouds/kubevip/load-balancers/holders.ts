import * as z from "zod";
import { canShare, type PoolData } from "#clouds/kubevip/load-balancers/pool.ts";
import { canonicalizeIp } from "#core/cidr.ts";

/** A Service that may share an address with others. */
export interface Sharer {
  readonly namespace: string;
  readonly ports: readonly number[];
}

/** A Service with kube-vip addresses. */
export interface Holder extends Sharer {
  readonly uid: string;
  readonly name: string;
  readonly created: string;
  /** Canonical; empty if it has none, or if they are unknown. */
  readonly addresses: readonly string[];
}

const Listed = z.object({
  metadata: z.object({
    uid: z.string().max(253),
    namespace: z.string().max(253),
    name: z.string().max(253),
    creationTimestamp: z.string().max(64),
    annotations: z.record(z.string(), z.string()).nullish(),
  }),
  spec: z.object({ ports: z.array(z.object({ port: z.int() })).nullish() }),
});

/** Parses the addresses of a Service from the object; undefined if it is not a Service. */
export function parseHolder(service: unknown): Holder | undefined {
  const listed = Listed.safeParse(service).data;
  if (listed === undefined) return undefined;
  const { uid, namespace, name, creationTimestamp, annotations } = listed.metadata;
  return {
    ...{ uid, namespace, name, created: creationTimestamp },
    addresses: parseAddresses(annotations?.[ADDRESSES_ANNOTATION] ?? "") ?? [],
    ports: (listed.spec.ports ?? []).map(({ port }) => port),
  };
}

/** Maximum addresses that a Service may name; kube-vip handles one of each family. */
export const MAX_ADDRESSES = 16;

/**
 * Parses the annotation's addresses to canonical form; undefined if one is invalid or there are too many. An
 * empty annotation has none.
 */
export function parseAddresses(written: string): readonly string[] | undefined {
  if (written.trim() === "") return [];
  const parts = written.split(",", MAX_ADDRESSES + 1);
  const addresses = parts.flatMap((part) => canonicalizeIp(part.trim()) ?? []);
  return addresses.length === parts.length && parts.length <= MAX_ADDRESSES ? addresses : undefined;
}

/** Whether the addresses of a Service were chosen here. */
export function isChosen(annotations: Readonly<Record<string, string>> = {}): boolean {
  const written = annotations[ADDRESSES_ANNOTATION];
  return written !== undefined && written !== "" && annotations[CHOSEN_ANNOTATION] === written;
}

/**
 * Finds the oldest other Service that has one of these addresses and does not share it; DHCP addresses never
 * conflict.
 */
export function findConflict(
  own: Pick<Holder, "uid"> & Sharer,
  addresses: readonly string[],
  holders: readonly Holder[],
  share: (one: Sharer, other: Sharer) => boolean,
): Holder | undefined {
  const wanted = new Set(addresses.filter((address) => address !== DHCP_ADDRESS));
  const others = holders.filter(
    (holder) =>
      holder.uid !== own.uid && holder.addresses.some((each) => wanted.has(each)) && !share(own, holder),
  );
  return others.toSorted((one, other) => (isYounger(one, other) ? 1 : -1))[0];
}

type Aged = Pick<Holder, "created" | "uid">;

/** Whether the first of two Services with one address must return it: the younger one does. */
export function isYounger(one: Aged, other: Aged): boolean {
  return one.created === other.created ? one.uid > other.uid : one.created > other.created;
}

/** Whether two Services have ports and none in common. */
export function arePortsApart(one: Pick<Sharer, "ports">, other: Pick<Sharer, "ports">): boolean {
  const areThere = one.ports.length > 0 && other.ports.length > 0;
  return areThere && !one.ports.some((port) => other.ports.includes(port));
}

/**
 * Creates the check whether two Services may share an address: the ConfigMap allows it, and their ports
 * differ.
 */
export function createSharingCheck(data: PoolData): (one: Sharer, other: Sharer) => boolean {
  return (one, other) =>
    arePortsApart(one, other) && canShare(data, one.namespace) && canShare(data, other.namespace);
}

/** The annotation with a Service's addresses for kube-vip: a comma-separated list. */
export const ADDRESSES_ANNOTATION = "kube-vip.io/loadbalancerIPs";

/** The annotation with the interface for kube-vip. */
export const INTERFACE_ANNOTATION = "kube-vip.io/serviceInterface";

/** Our annotation: the addresses that were chosen here, as written. Only these are ever removed. */
export const CHOSEN_ANNOTATION = "serverless-ccm.io/kube-vip-chosen";

/** The label that identifies Services with kube-vip addresses. */
export const IMPLEMENTATION_LABEL = "implementation";

export const KUBE_VIP = "kube-vip";

/** A label of earlier versions. */
export const LEGACY_LABEL = "ipam-address";

/** The address that requests one by DHCP. */
export const DHCP_ADDRESS = "0.0.0.0";

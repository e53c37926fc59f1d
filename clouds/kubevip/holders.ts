import * as z from "zod";
import { ADDRESSES_ANNOTATION, CHOSEN_ANNOTATION, DHCP_ADDRESS } from "#clouds/kubevip/keys.ts";
import { mayShare, type PoolData } from "#clouds/kubevip/pool.ts";
import { canonicalIp } from "#core/cidr.ts";

/** A Service that may share an address with others. */
export interface Sharer {
  readonly namespace: string;
  readonly ports: readonly number[];
}

/** A Service with addresses of kube-vip's. */
export interface Holder extends Sharer {
  readonly uid: string;
  readonly name: string;
  readonly created: string;
  /** Canonical; none where it has none, or where nobody can tell which. */
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

/** What a Service has, by the object; undefined of what is no Service. */
export function holderOf(service: unknown): Holder | undefined {
  const listed = Listed.safeParse(service).data;
  if (listed === undefined) return undefined;
  const { uid, namespace, name, creationTimestamp, annotations } = listed.metadata;
  return {
    ...{ uid, namespace, name, created: creationTimestamp },
    addresses: addressesIn(annotations?.[ADDRESSES_ANNOTATION] ?? "") ?? [],
    ports: (listed.spec.ports ?? []).map(({ port }) => port),
  };
}

/** Addresses that a Service may name; kube-vip knows what to do with one of each family. */
export const MAX_ADDRESSES = 16;

/** The addresses of the annotation, canonical; undefined where one of them is none, or where there are too many. An empty annotation has none. */
export function addressesIn(written: string): readonly string[] | undefined {
  if (written.trim() === "") return [];
  const parts = written.split(",", MAX_ADDRESSES + 1);
  const addresses = parts.flatMap((part) => canonicalIp(part.trim()) ?? []);
  return addresses.length === parts.length && parts.length <= MAX_ADDRESSES ? addresses : undefined;
}

/** Whether the addresses of a Service are those that were chosen here. */
export function isChosen(annotations: Readonly<Record<string, string>> = {}): boolean {
  const written = annotations[ADDRESSES_ANNOTATION];
  return written !== undefined && written !== "" && annotations[CHOSEN_ANNOTATION] === written;
}

/** The oldest of the others who have one of these addresses and do not share it; one that comes by DHCP is nobody's. */
export function othersAt(
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

/** Of two Services that have one address, who gives it back. */
export function isYounger(one: Aged, other: Aged): boolean {
  return one.created === other.created ? one.uid > other.uid : one.created > other.created;
}

/** Whether no port of the one is a port of the other, and both have some. */
export function arePortsApart(one: Pick<Sharer, "ports">, other: Pick<Sharer, "ports">): boolean {
  const areThere = one.ports.length > 0 && other.ports.length > 0;
  return areThere && !one.ports.some((port) => other.ports.includes(port));
}

/** Whether the ConfigMap lets two Services share an address, and their ports do. */
export function sharingBy(data: PoolData): (one: Sharer, other: Sharer) => boolean {
  return (one, other) =>
    arePortsApart(one, other) && mayShare(data, one.namespace) && mayShare(data, other.namespace);
}

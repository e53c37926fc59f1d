import type * as z from "zod";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciApi } from "#clouds/oci/api.ts";
import { type CachedLists, createCachedLists, type ListReading } from "#clouds/oci/cached-lists.ts";
import {
  hasEnded,
  Ipv6,
  OciInstance,
  PrivateIp,
  PublicIp,
  Subnet,
  Vnic,
  VnicAttachment,
} from "#clouds/oci/objects.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** The content of a list; unreadable entries are counted, because they could be anything. */
export interface Entries<Entry> {
  readonly entries: readonly Entry[];
  readonly unreadable: number;
}

/**
 * The reads of compute and network for nodes. Lists are shared and cached; a subnet's network never changes.
 */
export interface Inventory {
  /** By compartment. */
  readonly instances: CachedLists<Entries<OciInstance>>;
  /** By compartment. */
  readonly attachments: CachedLists<Entries<VnicAttachment>>;
  /** By subnet. */
  readonly privateIps: CachedLists<Entries<PrivateIp>>;
  /** By query: see `buildPublicIpQueries`. */
  readonly publicIps: CachedLists<Entries<PublicIp>>;
  /** By subnet. */
  readonly ipv6s: CachedLists<Entries<Ipv6>>;
  /** Undefined if Oracle says that it does not exist or is not visible. */
  readInstance(id: string, callContext: CallContext): Promise<Outcome<OciInstance | undefined>>;
  readAttachments(instance: OciInstance, callContext: CallContext): Promise<Outcome<Entries<VnicAttachment>>>;
  readVnic(id: string, callContext: CallContext): Promise<Outcome<Vnic>>;
  /** Returns the OCID of a subnet's VCN. */
  readVcn(subnetId: string, callContext: CallContext): Promise<Outcome<string>>;
}

const MAX_SUBNETS = 2_000;

export function createInventory(api: OciApi, now: () => number): Inventory {
  const vcns = new Map<string, string>();

  const createLists = <Schema extends z.ZodType>(schema: Schema, name: string, keyName: string) =>
    createCachedLists(
      (key, callContext) =>
        list(api, schema, name, keyName === "" ? key : `${keyName}=${encodeURIComponent(key)}`, callContext),
      now,
    );

  async function read<Schema extends z.ZodType>(
    schema: Schema,
    name: string,
    id: string,
    callContext: CallContext,
  ): Promise<Outcome<z.output<Schema>>> {
    const template = `GET /${name}/{id}`;
    const path = `/20160918/${name}/${id}`;
    const answer = await api.get({ operation: `get ${name}`, template, path }, callContext);
    if (answer.kind === "fault") return answer;
    const parsed = schema.safeParse(answer.value);
    if (!parsed.success) return fault("Unavailable", `${template}: the answer is not valid for ${name}`);
    const foundId = (parsed.data as { readonly id: string }).id;
    if (foundId === id) return ok(parsed.data);
    return fault("Unavailable", `${template}: requested ${id}, the answer is ${foundId}`);
  }

  return {
    instances: createLists(OciInstance, "instances", "compartmentId"),
    attachments: createLists(VnicAttachment, "vnicAttachments", "compartmentId"),
    privateIps: createLists(PrivateIp, "privateIps", "subnetId"),
    publicIps: createLists(PublicIp, "publicIps", ""),
    ipv6s: createLists(Ipv6, "ipv6", "subnetId"),
    async readInstance(id, callContext) {
      const answer = await read(OciInstance, "instances", id, callContext);
      if (answer.kind === "ok") return answer;
      return isNotFound(answer.fault) ? ok(undefined) : answer;
    },
    readAttachments({ id, compartmentId }, callContext) {
      const query = new URLSearchParams({ compartmentId, instanceId: id });
      return list(api, VnicAttachment, "vnicAttachments", query.toString(), callContext);
    },
    readVnic: (id, callContext) => read(Vnic, "vnics", id, callContext),
    async readVcn(subnetId, callContext) {
      const vcn = vcns.get(subnetId);
      if (vcn !== undefined) return ok(vcn);
      const subnet = await read(Subnet, "subnets", subnetId, callContext);
      if (subnet.kind === "fault") return subnet;
      if (vcns.size >= MAX_SUBNETS) vcns.clear();
      vcns.set(subnetId, subnet.value.vcnId);
      return ok(subnet.value.vcnId);
    },
  };
}

/**
 * Builds the queries for public addresses: reserved ones by compartment, and others by the place of
 * instances.
 */
export function buildPublicIpQueries(
  compartments: readonly string[],
  instances: Iterable<Pick<OciInstance, "compartmentId" | "availabilityDomain">>,
): string[] {
  const queries = [
    ...compartments.map((compartmentId) => ({ scope: "REGION", compartmentId })),
    ...[...instances].flatMap(({ compartmentId, availabilityDomain }) =>
      availabilityDomain ? [{ scope: "AVAILABILITY_DOMAIN", availabilityDomain, compartmentId }] : [],
    ),
  ];
  return [...new Set(queries.map((query) => new URLSearchParams(query).toString()))];
}

async function list<Schema extends z.ZodType>(
  api: OciApi,
  schema: Schema,
  name: string,
  query: string,
  callContext: CallContext,
): Promise<Outcome<Entries<z.output<Schema>>>> {
  const request = { operation: `list ${name}`, template: `GET /${name}`, path: `/20160918/${name}?${query}` };
  const listed = await api.list(request, callContext);
  if (listed.kind === "fault") return listed;
  const entries = listed.value.flatMap((each) => {
    const { success, data } = schema.safeParse(each);
    return success ? [data] : [];
  });
  return ok({ entries, unreadable: listed.value.length - entries.length });
}

/** A list of one compartment's instances. */
export type InstanceList = ListReading<Entries<OciInstance>>;

/** Finds the instance with an id. */
export function findInstance(lists: ReadonlyMap<string, InstanceList>, id: string): OciInstance | undefined {
  for (const { value } of lists.values()) {
    const found = indexInstances(value).byId.get(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Finds the instances with a name that are not terminated. */
export function findByName(lists: ReadonlyMap<string, InstanceList>, name: string): readonly OciInstance[] {
  return [...lists.values()].flatMap(({ value }) => indexInstances(value).byName.get(name) ?? []);
}

interface Index {
  readonly byId: ReadonlyMap<string, OciInstance>;
  readonly byName: ReadonlyMap<string, readonly OciInstance[]>;
}

const INDEXES = new WeakMap<Entries<OciInstance>, Index>();

/** Built once for each list and shared by all batches. */
function indexInstances(list: Entries<OciInstance>): Index {
  const cached = INDEXES.get(list);
  if (cached !== undefined) return cached;
  // An instance that moved between pages meanwhile counts once.
  const byId = new Map(list.entries.map((instance) => [instance.id, instance]));
  const alive = [...byId.values()].filter((instance) => !hasEnded(instance));
  const index = { byId, byName: Map.groupBy(alive, ({ displayName }) => displayName) };
  INDEXES.set(list, index);
  return index;
}

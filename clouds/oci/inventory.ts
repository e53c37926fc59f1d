import type * as z from "zod";
import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { OciApi } from "#clouds/oci/api.ts";
import { createKeptLists, type KeptLists } from "#clouds/oci/kept-lists.ts";
import { Ipv6, OciInstance, PrivateIp, PublicIp, Subnet, Vnic, VnicAttachment } from "#clouds/oci/objects.ts";
import { isNotFound } from "#clouds/oci/read-error.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What a list showed; entries that cannot be read are counted, as what they are nobody knows. */
export interface Entries<Entry> {
  readonly entries: readonly Entry[];
  readonly unreadable: number;
}

/** The reads of compute and network that nodes take. Lists are shared and kept; a subnet's network never changes. */
export interface Inventory {
  /** By compartment. */
  readonly instances: KeptLists<Entries<OciInstance>>;
  /** By compartment. */
  readonly attachments: KeptLists<Entries<VnicAttachment>>;
  /** By subnet. */
  readonly privateIps: KeptLists<Entries<PrivateIp>>;
  /** By query: see `publicIpQueries`. */
  readonly publicIps: KeptLists<Entries<PublicIp>>;
  /** By subnet. */
  readonly ipv6s: KeptLists<Entries<Ipv6>>;
  /** Undefined where Oracle says that there is none, or none to be seen. */
  instance(id: string, turn: Turn): Promise<Outcome<OciInstance | undefined>>;
  attachmentsOf(instance: OciInstance, turn: Turn): Promise<Outcome<Entries<VnicAttachment>>>;
  vnic(id: string, turn: Turn): Promise<Outcome<Vnic>>;
  /** The OCID of the VCN that a subnet is part of. */
  vcnOf(subnetId: string, turn: Turn): Promise<Outcome<string>>;
}

const MAX_SUBNETS = 2_000;

export function createInventory(api: OciApi, now: () => number): Inventory {
  const vcns = new Map<string, string>();

  const keptLists = <Schema extends z.ZodType>(schema: Schema, name: string, keyIs: string) =>
    createKeptLists(
      (key, turn) =>
        list(api, schema, name, keyIs === "" ? key : `${keyIs}=${encodeURIComponent(key)}`, turn),
      now,
    );

  async function read<Schema extends z.ZodType>(
    schema: Schema,
    name: string,
    id: string,
    turn: Turn,
  ): Promise<Outcome<z.output<Schema>>> {
    const template = `GET /${name}/{id}`;
    const path = `/20160918/${name}/${id}`;
    const answer = await api.get({ operation: `get ${name}`, template, path }, turn);
    if (answer.kind === "fault") return answer;
    const parsed = schema.safeParse(answer.value);
    if (!parsed.success) return fault("Unavailable", `${template}: the answer is none of ${name}`);
    const found = (parsed.data as { readonly id: string }).id;
    if (found === id) return ok(parsed.data);
    return fault("Unavailable", `${template}: asked for ${id}, the answer is ${found}`);
  }

  return {
    instances: keptLists(OciInstance, "instances", "compartmentId"),
    attachments: keptLists(VnicAttachment, "vnicAttachments", "compartmentId"),
    privateIps: keptLists(PrivateIp, "privateIps", "subnetId"),
    publicIps: keptLists(PublicIp, "publicIps", ""),
    ipv6s: keptLists(Ipv6, "ipv6", "subnetId"),
    async instance(id, turn) {
      const answer = await read(OciInstance, "instances", id, turn);
      if (answer.kind === "ok") return answer;
      return isNotFound(answer.fault) ? ok(undefined) : answer;
    },
    attachmentsOf({ id, compartmentId }, turn) {
      const query = new URLSearchParams({ compartmentId, instanceId: id });
      return list(api, VnicAttachment, "vnicAttachments", query.toString(), turn);
    },
    vnic: (id, turn) => read(Vnic, "vnics", id, turn),
    async vcnOf(subnetId, turn) {
      const known = vcns.get(subnetId);
      if (known !== undefined) return ok(known);
      const subnet = await read(Subnet, "subnets", subnetId, turn);
      if (subnet.kind === "fault") return subnet;
      if (vcns.size >= MAX_SUBNETS) vcns.clear();
      vcns.set(subnetId, subnet.value.vcnId);
      return ok(subnet.value.vcnId);
    },
  };
}

/** The lists in which public addresses stand: the reserved ones of compartments, and the others of where instances are. */
export function publicIpQueries(
  reservedIn: readonly string[],
  instances: Iterable<Pick<OciInstance, "compartmentId" | "availabilityDomain">>,
): string[] {
  const queries = [
    ...reservedIn.map((compartmentId) => ({ scope: "REGION", compartmentId })),
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
  turn: Turn,
): Promise<Outcome<Entries<z.output<Schema>>>> {
  const request = { operation: `list ${name}`, template: `GET /${name}`, path: `/20160918/${name}?${query}` };
  const listed = await api.list(request, turn);
  if (listed.kind === "fault") return listed;
  const entries = listed.value.flatMap((each) => {
    const { success, data } = schema.safeParse(each);
    return success ? [data] : [];
  });
  return ok({ entries, unreadable: listed.value.length - entries.length });
}

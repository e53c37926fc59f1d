import { isIPv4, isIPv6 } from "node:net";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { CachedLists } from "#clouds/oci/cached-lists.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import {
  buildPublicIpQueries,
  type Entries,
  type InstanceList,
  type Inventory,
} from "#clouds/oci/inventory.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import { buildAmbiguousFault, type Resolution, toFailedResolution } from "#clouds/oci/query.ts";
import { fault, ok } from "#clouds/outcome.ts";
import { canonicalizeIp } from "#core/cidr.ts";

/** Sources of VNICs; lists must begin at `since` or later. */
export interface VnicSources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly since: number;
}

/**
 * Finds nodes whose name is no instance's by a VNIC in the cluster's VCN. Its host name must match the node's
 * name or first label, or one of its addresses must be the name. Names without a match are left out.
 */
export async function findByVnic(
  names: ReadonlySet<string>,
  lists: ReadonlyMap<string, InstanceList>,
  { inventory, config, since }: VnicSources,
  callContext: CallContext,
): Promise<ReadonlyMap<string, Resolution>> {
  const buildForAll = (resolution: Resolution): ReadonlyMap<string, Resolution> =>
    new Map([...names].map((name) => [name, resolution]));
  if (config.vcn === undefined) return buildForAll(NO_VCN);
  const instances = new Map<string, OciInstance>();
  for (const { value } of lists.values())
    for (const instance of value.entries) if (!hasEnded(instance)) instances.set(instance.id, instance);

  const labels = await indexVnicLabels(
    [...names],
    { inventory, config, since, vcn: config.vcn },
    callContext,
  );
  if (labels.kind === "fault") return buildForAll(toFailedResolution(labels.fault));
  const found = new Map<string, Resolution>();
  for (const name of names) {
    const keys = [name, name.split(".")[0] ?? name, parseAddress(name) ?? name];
    const ids = new Set(keys.flatMap((key) => labels.value.get(key) ?? []).filter((id) => instances.has(id)));
    const [id, ...others] = ids;
    const instance = id === undefined ? undefined : instances.get(id);
    if (instance === undefined) continue;
    const match: Resolution = { kind: "instance", instance, guess: true };
    found.set(name, others.length === 0 ? match : toFailedResolution(buildAmbiguousFault([...ids])));
  }
  return found;
}

const NO_VCN: Resolution = toFailedResolution({
  code: "Denied",
  message:
    "vcn is not configured, without which no node can be looked for by its name; set it, or the kubelets' provider IDs",
});

/** Indexes instance ids by host name and address of their VNICs in the VCN. */
async function indexVnicLabels(
  names: readonly string[],
  { inventory, config, since, vcn }: VnicSources & { readonly vcn: string },
  callContext: CallContext,
): Promise<Outcome<ReadonlyMap<string, readonly string[]>>> {
  const collectAll = <Entry>(lists: CachedLists<Entries<Entry>>, keys: Iterable<string>) =>
    collect(lists, keys, callContext, since);
  const attached = await collectAll(inventory.attachments, listCompartments(config));
  if (attached.kind === "fault") return attached;
  const alive = attached.value.filter(({ lifecycleState }) => lifecycleState === "ATTACHED");
  const subnets = new Set<string>();
  for (const subnet of new Set(alive.flatMap(({ subnetId }) => subnetId ?? []))) {
    const subnetVcn = await inventory.readVcn(subnet, callContext);
    if (subnetVcn.kind === "fault") return subnetVcn;
    if (subnetVcn.value === vcn) subnets.add(subnet);
  }
  const instancesByVnic = new Map(
    alive.flatMap(({ vnicId, subnetId, instanceId }) =>
      vnicId !== undefined && subnets.has(subnetId ?? "") ? [[vnicId, instanceId] as const] : [],
    ),
  );
  const privateIps = await collectAll(inventory.privateIps, subnets);
  if (privateIps.kind === "fault") return privateIps;
  const primary = privateIps.value.filter(({ isPrimary }) => isPrimary);
  const pairs: (readonly [string | undefined, string | undefined])[] = primary.flatMap(
    ({ vnicId, hostnameLabel, ipAddress }) => [
      [hostnameLabel, vnicId] as const,
      [ipAddress, vnicId] as const,
    ],
  );
  if (names.some((name) => isIPv4(name))) {
    const queries = buildPublicIpQueries(listCompartments(config), listInstances(inventory, config, since));
    const publicIps = await collectAll(inventory.publicIps, queries);
    if (publicIps.kind === "fault") return publicIps;
    const vnicsByPrivateIp = new Map(primary.map(({ id, vnicId }) => [id, vnicId]));
    pairs.push(
      ...publicIps.value.map(
        (each) => [each.ipAddress, vnicsByPrivateIp.get(each.assignedEntityId ?? "")] as const,
      ),
    );
  }
  if (names.some((name) => isIPv6(parseAddress(name) ?? ""))) {
    const ipv6s = await collectAll(inventory.ipv6s, subnets);
    if (ipv6s.kind === "fault") return ipv6s;
    pairs.push(...ipv6s.value.map(({ ipAddress, vnicId }) => [canonicalizeIp(ipAddress), vnicId] as const));
  }
  const index = new Map<string, string[]>();
  for (const [label, vnicId] of pairs) {
    const instance = instancesByVnic.get(vnicId ?? "");
    if (label === undefined || label === "" || instance === undefined) continue;
    index.set(label, [...(index.get(label) ?? []), instance]);
  }
  return ok(index);
}

function listInstances({ instances }: Inventory, config: OciCloudConfig, since: number): OciInstance[] {
  return listCompartments(config).flatMap((each) => instances.getRecent(each, since)?.value.entries ?? []);
}

/** Parses a node's name as an address: IPv4 unchanged, or IPv6 with dashes for its colons. */
function parseAddress(name: string): string | undefined {
  if (isIPv4(name)) return name;
  const colons = name.replaceAll("-", ":");
  return isIPv6(colons) ? canonicalizeIp(colons) : undefined;
}

async function collect<Entry>(
  lists: CachedLists<Entries<Entry>>,
  keys: Iterable<string>,
  callContext: CallContext,
  since: number,
): Promise<Outcome<Entry[]>> {
  const entries: Entry[] = [];
  for (const key of keys) {
    const listed = await lists.get(key, callContext, since);
    if (listed.kind === "fault") return listed;
    if (listed.value.value.unreadable > 0)
      return fault(
        "Unavailable",
        "a list of addresses has entries that cannot be read, and one may be the node's",
      );
    entries.push(...listed.value.value.entries);
  }
  return ok(entries);
}

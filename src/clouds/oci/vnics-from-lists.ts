import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { CachedLists } from "#clouds/oci/cached-lists.ts";
import { listCompartments } from "#clouds/oci/config.ts";
import { buildPublicIpQueries, type Entries } from "#clouds/oci/inventory.ts";
import type { Ipv6, PrivateIp, PublicIp, Vnic } from "#clouds/oci/objects.ts";
import type { MemberRequest, MemberSources } from "#clouds/oci/query.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** An instance's only VNIC, which is therefore the primary one. */
export interface LoneVnic {
  readonly request: MemberRequest;
  readonly vnicId: string;
  readonly subnetId: string;
}

/** Builds the VNICs by id from lists of addresses by subnet and of public addresses. */
export async function readVnics(
  loneVnics: readonly LoneVnic[],
  sources: MemberSources,
  callContext: CallContext,
): Promise<ReadonlyMap<string, Outcome<Vnic>>> {
  const { inventory, config, since, beganAt } = sources;
  const publicIps = await collect(
    inventory.publicIps,
    buildPublicIpQueries(
      listCompartments(config),
      loneVnics.map(({ request }) => request.instance),
    ),
    callContext,
    since,
  );
  if (publicIps.kind === "fault") return new Map(loneVnics.map(({ vnicId }) => [vnicId, publicIps]));
  // Reserved addresses that are not in use belong to no VNIC.
  const publicIpsById = new Map(
    publicIps.value.flatMap(({ assignedEntityId, ipAddress }: PublicIp) =>
      assignedEntityId === undefined ? [] : [[assignedEntityId, ipAddress] as const],
    ),
  );

  const vnics = new Map<string, Outcome<Vnic>>();
  for (const [subnetId, all] of Map.groupBy(loneVnics, (each) => each.subnetId)) {
    const ipv6s = all.some(({ request }) => request.ipv6)
      ? await collect(inventory.ipv6s, [subnetId], callContext, since)
      : ok<Ipv6[]>([]);
    const ipv6sByVnic = ipv6s.kind === "ok" ? Map.groupBy(ipv6s.value, ({ vnicId }) => vnicId) : new Map();
    let privateIps = await readPrimaries(inventory.privateIps, subnetId, callContext, since);
    // An older list may lack the address of a new VNIC.
    if (privateIps.kind === "ok" && all.some(({ vnicId }) => !hasVnic(privateIps, vnicId)))
      privateIps = await readPrimaries(inventory.privateIps, subnetId, callContext, beganAt);
    for (const { vnicId } of all) {
      const failure = privateIps.kind === "fault" ? privateIps : ipv6s.kind === "fault" ? ipv6s : undefined;
      if (failure !== undefined || privateIps.kind === "fault") {
        vnics.set(vnicId, failure ?? fault("Unavailable", "no answer"));
        continue;
      }
      const privateIp = privateIps.value.get(vnicId);
      vnics.set(
        vnicId,
        ok({
          id: vnicId,
          isPrimary: true,
          subnetId,
          privateIp: privateIp?.ipAddress,
          publicIp: privateIp && publicIpsById.get(privateIp.id),
          ipv6Addresses: (ipv6sByVnic.get(vnicId) ?? []).map(({ ipAddress }: Ipv6) => ipAddress),
          hostnameLabel: privateIp?.hostnameLabel,
          definedTags: undefined,
        }),
      );
    }
  }
  return vnics;
}

type PrimariesByVnic = ReadonlyMap<string | undefined, PrivateIp>;

function hasVnic(privateIps: Outcome<PrimariesByVnic>, vnicId: string): boolean {
  return privateIps.kind === "ok" && privateIps.value.has(vnicId);
}

async function readPrimaries(
  lists: CachedLists<Entries<PrivateIp>>,
  subnetId: string,
  callContext: CallContext,
  since: number,
): Promise<Outcome<PrimariesByVnic>> {
  const listed = await collect(lists, [subnetId], callContext, since);
  if (listed.kind === "fault") return listed;
  return ok(new Map(listed.value.filter(({ isPrimary }) => isPrimary).map((each) => [each.vnicId, each])));
}

/** Collects all entries of several lists; unreadable entries belong to no VNIC. */
async function collect<Entry>(
  lists: CachedLists<Entries<Entry>>,
  keys: readonly string[],
  callContext: CallContext,
  since: number,
): Promise<Outcome<Entry[]>> {
  const entries: Entry[] = [];
  for (const key of keys) {
    const listed = await lists.get(key, callContext, since);
    if (listed.kind === "fault") return listed;
    entries.push(...listed.value.value.entries);
  }
  return ok(entries);
}

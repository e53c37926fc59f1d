import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { type Entries, publicIpQueries } from "#clouds/oci/inventory.ts";
import type { KeptLists } from "#clouds/oci/kept-lists.ts";
import { compartmentsOf } from "#clouds/oci/kind.ts";
import type { MemberSources, Wanted } from "#clouds/oci/members.ts";
import type { Ipv6, PrivateIp, PublicIp, Vnic } from "#clouds/oci/objects.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** A VNIC that is an instance's only one, and so its primary. */
export interface LoneVnic {
  readonly wanted: Wanted;
  readonly vnicId: string;
  readonly subnetId: string;
}

/** What the VNICs say, put together of lists of addresses by subnet and of public addresses; by the VNIC's id. */
export async function vnicsFromLists(
  alone: readonly LoneVnic[],
  sources: MemberSources,
  turn: Turn,
): Promise<ReadonlyMap<string, Outcome<Vnic>>> {
  const { inventory, config, since, beganAt } = sources;
  const publicIps = await collect(
    inventory.publicIps,
    publicIpQueries(
      compartmentsOf(config),
      alone.map(({ wanted }) => wanted.instance),
    ),
    turn,
    since,
  );
  if (publicIps.kind === "fault") return new Map(alone.map(({ vnicId }) => [vnicId, publicIps]));
  // Those that are reserved and not in use are nobody's.
  const publicIpOf = new Map(
    publicIps.value.flatMap(({ assignedEntityId, ipAddress }: PublicIp) =>
      assignedEntityId === undefined ? [] : [[assignedEntityId, ipAddress] as const],
    ),
  );

  const vnics = new Map<string, Outcome<Vnic>>();
  for (const [subnetId, all] of Map.groupBy(alone, (each) => each.subnetId)) {
    const ipv6s = all.some(({ wanted }) => wanted.ipv6)
      ? await collect(inventory.ipv6s, [subnetId], turn, since)
      : ok<Ipv6[]>([]);
    const ipv6sOf = ipv6s.kind === "ok" ? Map.groupBy(ipv6s.value, ({ vnicId }) => vnicId) : new Map();
    let privateIps = await primariesOf(inventory.privateIps, subnetId, turn, since);
    // A list from before may lack the address of a VNIC that is young.
    if (privateIps.kind === "ok" && all.some(({ vnicId }) => !hasVnic(privateIps, vnicId)))
      privateIps = await primariesOf(inventory.privateIps, subnetId, turn, beganAt);
    for (const { vnicId } of all) {
      const trouble = privateIps.kind === "fault" ? privateIps : ipv6s.kind === "fault" ? ipv6s : undefined;
      if (trouble !== undefined || privateIps.kind === "fault") {
        vnics.set(vnicId, trouble ?? fault("Unavailable", "no answer"));
        continue;
      }
      const own = privateIps.value.get(vnicId);
      vnics.set(
        vnicId,
        ok({
          id: vnicId,
          isPrimary: true,
          subnetId,
          privateIp: own?.ipAddress,
          publicIp: own && publicIpOf.get(own.id),
          ipv6Addresses: (ipv6sOf.get(vnicId) ?? []).map(({ ipAddress }: Ipv6) => ipAddress),
          hostnameLabel: own?.hostnameLabel,
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

async function primariesOf(
  lists: KeptLists<Entries<PrivateIp>>,
  subnetId: string,
  turn: Turn,
  since: number,
): Promise<Outcome<PrimariesByVnic>> {
  const listed = await collect(lists, [subnetId], turn, since);
  if (listed.kind === "fault") return listed;
  return ok(new Map(listed.value.filter(({ isPrimary }) => isPrimary).map((each) => [each.vnicId, each])));
}

/** All entries of some lists; what cannot be read of them is nobody's address. */
async function collect<Entry>(
  lists: KeptLists<Entries<Entry>>,
  keys: readonly string[],
  turn: Turn,
  since: number,
): Promise<Outcome<Entry[]>> {
  const entries: Entry[] = [];
  for (const key of keys) {
    const listed = await lists.get(key, turn, since);
    if (listed.kind === "fault") return listed;
    entries.push(...listed.value.value.entries);
  }
  return ok(entries);
}

import type { Turn } from "#clouds/http/api.ts";
import { compartmentsOf } from "#clouds/oci/kind.ts";
import { hasEnded } from "#clouds/oci/objects.ts";
import type { Sources } from "#clouds/oci/resolve.ts";

/**
 * The OCID of an instance of the cluster that was there to be seen: whatever was not found with it was looked for in the right place.
 * One that the batch's own lists show, whose VNIC is in the VCN; `asked` are those that the batch is about, which prove nothing.
 */
export async function findControl(
  asked: ReadonlySet<string>,
  { inventory, config }: Sources,
  since: number,
  turn: Turn,
): Promise<string | undefined> {
  const { vcn } = config;
  for (const compartment of compartmentsOf(config)) {
    const listed = inventory.instances.recent(compartment, since)?.value.entries ?? [];
    const others = new Set(
      listed.filter((each) => !hasEnded(each) && !asked.has(each.id)).map(({ id }) => id),
    );
    if (others.size === 0) continue;
    if (vcn === undefined) return others.values().next().value;
    const attachments = await inventory.attachments.get(compartment, turn, since);
    if (attachments.kind === "fault") return undefined;
    const subnets = new Set<string>();
    for (const { instanceId, subnetId, lifecycleState } of attachments.value.value.entries) {
      if (lifecycleState !== "ATTACHED" || subnetId === undefined || !others.has(instanceId)) continue;
      // Each subnet is looked at once, and of a few alone.
      if (subnets.has(subnetId) || subnets.size === MAX_SUBNETS) continue;
      subnets.add(subnetId);
      const found = await inventory.vcnOf(subnetId, turn);
      if (found.kind === "ok" && found.value === vcn) return instanceId;
    }
  }
  return undefined;
}

const MAX_SUBNETS = 5;

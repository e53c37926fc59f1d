import type { Turn } from "#clouds/http/api.ts";
import { isAttached } from "#clouds/oci/attachments.ts";
import type { VnicSources } from "#clouds/oci/find-by-vnic.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";

/** Of more that are called alike none is chosen. */
const MAX_CANDIDATES = 10;

/**
 * Of instances of one name the one with a VNIC in the cluster's VCN: another cluster of the compartment may well call its nodes the same.
 * Undefined where several have, none has, or that cannot be told of each of them.
 */
export async function chooseInVcn(
  candidates: readonly OciInstance[],
  { inventory, config: { vcn }, since }: VnicSources,
  turn: Turn,
): Promise<OciInstance | undefined> {
  if (vcn === undefined || candidates.length > MAX_CANDIDATES) return undefined;
  const own: OciInstance[] = [];
  for (const instance of candidates) {
    const listed = await inventory.attachments.get(instance.compartmentId, turn, since);
    if (listed.kind === "fault") return undefined;
    const attached = listed.value.value.entries.filter(
      (each) => each.instanceId === instance.id && isAttached(each),
    );
    // One that has no VNIC yet may be anybody's.
    if (attached.length === 0) return undefined;
    for (const { subnetId } of attached) {
      const found = subnetId === undefined ? undefined : await inventory.vcnOf(subnetId, turn);
      if (found?.kind !== "ok") return undefined;
      if (found.value !== vcn) continue;
      own.push(instance);
      break;
    }
  }
  return own.length === 1 ? own[0] : undefined;
}

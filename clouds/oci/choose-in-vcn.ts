import type { CallContext } from "#clouds/http/call-context.ts";
import { isAttached } from "#clouds/oci/attachments.ts";
import type { VnicSources } from "#clouds/oci/find-by-vnic.ts";
import type { OciInstance } from "#clouds/oci/objects.ts";

/** If more instances than this have one name, none is chosen. */
const MAX_CANDIDATES = 10;

/**
 * Chooses among instances of one name the one with a VNIC in the cluster's VCN, because another cluster of
 * the compartment may use the same names. Undefined if no or several instances match, or if one of them is
 * unknown.
 */
export async function chooseInVcn(
  candidates: readonly OciInstance[],
  { inventory, config: { vcn }, since }: VnicSources,
  callContext: CallContext,
): Promise<OciInstance | undefined> {
  if (vcn === undefined || candidates.length > MAX_CANDIDATES) return undefined;
  const matches: OciInstance[] = [];
  for (const instance of candidates) {
    const listed = await inventory.attachments.get(instance.compartmentId, callContext, since);
    if (listed.kind === "fault") return undefined;
    const attached = listed.value.value.entries.filter(
      (each) => each.instanceId === instance.id && isAttached(each),
    );
    // One without a VNIC yet may belong to any cluster.
    if (attached.length === 0) return undefined;
    for (const { subnetId } of attached) {
      const found = subnetId === undefined ? undefined : await inventory.readVcn(subnetId, callContext);
      if (found?.kind !== "ok") return undefined;
      if (found.value !== vcn) continue;
      matches.push(instance);
      break;
    }
  }
  return matches.length === 1 ? matches[0] : undefined;
}

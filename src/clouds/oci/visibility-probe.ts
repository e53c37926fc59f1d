import type { CallContext } from "#clouds/http/meter.ts";
import { listCompartments, type OciCloudConfig } from "#clouds/oci/config.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import type { Sources } from "#clouds/oci/resolve.ts";
import type { VisibilityProbe } from "#core/instance.ts";

/** Converts an instance to a visibility probe: its OCID and its place. */
export function buildVisibilityProbe(
  { id, region }: OciInstance,
  vcn: string | undefined,
  { auth }: OciCloudConfig,
): VisibilityProbe {
  return { id, account: auth.tenancy, network: vcn, region };
}

/**
 * Finds a visible instance of the cluster: it proves that the search for missing ones was in the right place.
 * It takes an instance of the batch's own lists with a VNIC in the VCN. `batchIds` are the instances of the
 * batch, which prove nothing.
 */
export async function findVisibilityProbe(
  batchIds: ReadonlySet<string>,
  { inventory, config }: Sources,
  since: number,
  callContext: CallContext,
): Promise<VisibilityProbe | undefined> {
  const { vcn } = config;
  for (const compartment of listCompartments(config)) {
    const listed = inventory.instances.getRecent(compartment, since)?.value.entries ?? [];
    const others = new Map(
      listed.filter((each) => !hasEnded(each) && !batchIds.has(each.id)).map((each) => [each.id, each]),
    );
    const [first] = others.values();
    if (first === undefined) continue;
    // Without a configured VCN, finding its VCN would need further requests.
    if (vcn === undefined) return buildVisibilityProbe(first, undefined, config);
    const attachments = await inventory.attachments.get(compartment, callContext, since);
    if (attachments.kind === "fault") return undefined;
    const subnets = new Set<string>();
    for (const { instanceId, subnetId, lifecycleState } of attachments.value.value.entries) {
      if (lifecycleState !== "ATTACHED" || subnetId === undefined) continue;
      const instance = others.get(instanceId);
      if (instance === undefined) continue;
      // Each subnet is read once, and only a few are read.
      if (subnets.has(subnetId) || subnets.size === MAX_SUBNETS) continue;
      subnets.add(subnetId);
      const found = await inventory.readVcn(subnetId, callContext);
      if (found.kind === "ok" && found.value === vcn) return buildVisibilityProbe(instance, vcn, config);
    }
  }
  return undefined;
}

const MAX_SUBNETS = 5;

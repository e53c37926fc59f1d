import type { Turn } from "#clouds/http/api.ts";
import { compartmentsOf, type OciCloudConfig } from "#clouds/oci/kind.ts";
import { hasEnded, type OciInstance } from "#clouds/oci/objects.ts";
import type { Sources } from "#clouds/oci/resolve.ts";
import type { PositiveControl } from "#core/instance.ts";

/** An instance as a proof: its OCID, and where it is. */
export function toControl(
  { id, region }: OciInstance,
  vcn: string | undefined,
  { auth }: OciCloudConfig,
): PositiveControl {
  return { id, account: auth.tenancy, network: vcn, region };
}

/**
 * Finds an instance of the cluster that was there to be seen: whatever was not found with it was looked for in the right place. One
 * that the batch's own lists show, whose VNIC is in the VCN; `asked` are those that the batch is about, which prove nothing.
 */
export async function findControl(
  asked: ReadonlySet<string>,
  { inventory, config }: Sources,
  since: number,
  turn: Turn,
): Promise<PositiveControl | undefined> {
  const { vcn } = config;
  for (const compartment of compartmentsOf(config)) {
    const listed = inventory.instances.recent(compartment, since)?.value.entries ?? [];
    const others = new Map(
      listed.filter((each) => !hasEnded(each) && !asked.has(each.id)).map((each) => [each.id, each]),
    );
    const [first] = others.values();
    if (first === undefined) continue;
    // Which VCN it is in would take further requests, where none is configured.
    if (vcn === undefined) return toControl(first, undefined, config);
    const attachments = await inventory.attachments.get(compartment, turn, since);
    if (attachments.kind === "fault") return undefined;
    const subnets = new Set<string>();
    for (const { instanceId, subnetId, lifecycleState } of attachments.value.value.entries) {
      if (lifecycleState !== "ATTACHED" || subnetId === undefined) continue;
      const instance = others.get(instanceId);
      if (instance === undefined) continue;
      // Each subnet is looked at once, and of a few alone.
      if (subnets.has(subnetId) || subnets.size === MAX_SUBNETS) continue;
      subnets.add(subnetId);
      const found = await inventory.vcnOf(subnetId, turn);
      if (found.kind === "ok" && found.value === vcn) return toControl(instance, vcn, config);
    }
  }
  return undefined;
}

const MAX_SUBNETS = 5;

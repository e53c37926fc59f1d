import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { hasEnded, type OciInstance, type VnicAttachment } from "#clouds/oci/objects.ts";
import type { MemberRequest, MemberSources } from "#clouds/oci/query.ts";
import { ok } from "#clouds/outcome.ts";

/** Up to this many instances have their attachments read one by one. */
const FEW = 2;

/** Reads the VNIC attachments of instances, by instance id. */
export async function readAttachments(
  requests: readonly MemberRequest[],
  { inventory, since, beganAt }: MemberSources,
  callContext: CallContext,
): Promise<ReadonlyMap<string, Outcome<readonly VnicAttachment[]>>> {
  const found = new Map<string, Outcome<readonly VnicAttachment[]>>();
  const byCompartment = Map.groupBy(requests, ({ instance }) => instance.compartmentId);
  for (const [compartment, all] of byCompartment) {
    const recent = inventory.attachments.getRecent(compartment, since)?.value;
    if (recent === undefined && all.length <= FEW) {
      for (const { instance } of all) {
        const read = await inventory.readAttachments(instance, callContext);
        found.set(instance.id, read.kind === "ok" ? ok(read.value.entries) : read);
      }
      continue;
    }
    // An older list may lack the VNIC of a new instance.
    for (const from of [since, beganAt]) {
      const open = all.filter(({ instance }) => !isComplete(found.get(instance.id), instance));
      if (open.length === 0) break;
      const listed = await inventory.attachments.get(compartment, callContext, from);
      const attachmentsByInstance =
        listed.kind === "ok"
          ? Map.groupBy(listed.value.value.entries, ({ instanceId }) => instanceId)
          : undefined;
      for (const { instance } of open)
        found.set(
          instance.id,
          listed.kind === "ok" ? ok(attachmentsByInstance?.get(instance.id) ?? []) : listed,
        );
      if (listed.kind === "fault") break;
    }
  }
  return found;
}

function isComplete(found: Outcome<readonly VnicAttachment[]> | undefined, instance: OciInstance): boolean {
  if (found === undefined || found.kind === "fault") return false;
  return hasEnded(instance) || found.value.some(isAttached);
}

/** Whether a VNIC is attached. */
export function isAttached({ lifecycleState, vnicId }: VnicAttachment): boolean {
  return lifecycleState === "ATTACHED" && vnicId !== undefined;
}

/** Oldest first. */
export function compareAge(a: VnicAttachment, b: VnicAttachment): number {
  return a.timeCreated < b.timeCreated ? -1 : Number(a.timeCreated > b.timeCreated);
}

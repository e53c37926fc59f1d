import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { MemberSources, Wanted } from "#clouds/oci/members.ts";
import { hasEnded, type OciInstance, type VnicAttachment } from "#clouds/oci/objects.ts";
import { ok } from "#clouds/outcome.ts";

/** So few have their attachments read singly. */
const FEW = 2;

/** What ties VNICs to instances, by the instance's id. */
export async function attachmentsOfAll(
  wanted: readonly Wanted[],
  { inventory, since, beganAt }: MemberSources,
  turn: Turn,
): Promise<ReadonlyMap<string, Outcome<readonly VnicAttachment[]>>> {
  const found = new Map<string, Outcome<readonly VnicAttachment[]>>();
  const byCompartment = Map.groupBy(wanted, ({ instance }) => instance.compartmentId);
  for (const [compartment, all] of byCompartment) {
    const recent = inventory.attachments.recent(compartment, since)?.value;
    if (recent === undefined && all.length <= FEW) {
      for (const { instance } of all) {
        const read = await inventory.attachmentsOf(instance, turn);
        found.set(instance.id, read.kind === "ok" ? ok(read.value.entries) : read);
      }
      continue;
    }
    // A list from before may lack the VNIC of an instance that is young.
    for (const from of [since, beganAt]) {
      const open = all.filter(({ instance }) => !isComplete(found.get(instance.id), instance));
      if (open.length === 0) break;
      const listed = await inventory.attachments.get(compartment, turn, from);
      const of =
        listed.kind === "ok"
          ? Map.groupBy(listed.value.value.entries, ({ instanceId }) => instanceId)
          : undefined;
      for (const { instance } of open)
        found.set(instance.id, listed.kind === "ok" ? ok(of?.get(instance.id) ?? []) : listed);
      if (listed.kind === "fault") break;
    }
  }
  return found;
}

function isComplete(found: Outcome<readonly VnicAttachment[]> | undefined, instance: OciInstance): boolean {
  if (found === undefined || found.kind === "fault") return false;
  return hasEnded(instance) || found.value.some(isAttached);
}

/** Whether a VNIC is there to be reached. */
export function isAttached({ lifecycleState, vnicId }: VnicAttachment): boolean {
  return lifecycleState === "ATTACHED" && vnicId !== undefined;
}

/** The oldest first. */
export function byAge(a: VnicAttachment, b: VnicAttachment): number {
  return a.timeCreated < b.timeCreated ? -1 : Number(a.timeCreated > b.timeCreated);
}

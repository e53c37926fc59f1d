import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Inventory } from "#clouds/oci/inventory.ts";
import type { OciCloudConfig } from "#clouds/oci/kind.ts";
import { hasEnded, type OciInstance, type Vnic, type VnicAttachment } from "#clouds/oci/objects.ts";
import { openShiftNamespace, secondVnicOf } from "#clouds/oci/openshift.ts";
import { vnicsFromLists } from "#clouds/oci/vnics-from-lists.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** An instance with what tells whose it is and how it is reached. */
export interface Member {
  readonly instance: OciInstance;
  /** The VCN of its primary VNIC; of an instance that has ended, of what is left of its VNICs, or undefined where nothing is. */
  readonly vcn: string | undefined;
  /** The primary VNIC, and that of an OpenShift node's boot volume; none of an instance that has ended. */
  readonly vnics: readonly Vnic[];
}

/** What is wanted of an instance beyond what everyone wants. */
export interface Wanted {
  readonly instance: OciInstance;
  readonly ipv6: boolean;
  /** A node of it has a public IPv4 address: that it has none any more is looked up singly, as one list may not show it. */
  readonly hadPublicIp: boolean;
}

/** The primary VNIC of an instance never changes: instances by id. */
export type KnownPrimaries = Map<string, string>;

export interface MemberSources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly primaries: KnownPrimaries;
  /** Lists that began then or later are believed of what they show. */
  readonly since: number;
  /** When the batch began. */
  readonly beganAt: number;
}

/** Up to so many instances have their VNICs read singly, which show all in one; beyond, lists are cheaper. */
const MAX_SINGLE = 10;
const FEW = 2;
const MAX_PRIMARIES = 10_000;

/** Finds network and addresses of instances, each by itself: what is wrong with one is not the others' trouble. */
export async function gatherMembers(
  wanted: readonly Wanted[],
  sources: MemberSources,
  turn: Turn,
): Promise<ReadonlyMap<string, Outcome<Member>>> {
  const members = new Map<string, Outcome<Member>>();
  const attachments = await attachmentsOfAll(wanted, sources, turn);
  const alone: { readonly wanted: Wanted; readonly vnicId: string; readonly subnetId: string }[] = [];
  const several: { readonly wanted: Wanted; readonly attached: readonly VnicAttachment[] }[] = [];

  for (const each of wanted) {
    const { instance } = each;
    const found = attachments.get(instance.id) ?? ok([]);
    if (found.kind === "fault") members.set(instance.id, found);
    else if (hasEnded(instance)) members.set(instance.id, await ended(instance, found.value, sources, turn));
    else {
      const attached = found.value.filter(isAttached).toSorted(byAge);
      const [first, ...others] = attached;
      const outside = await vcnOutside(attached, sources, turn);
      if (outside !== undefined) {
        members.set(
          instance.id,
          outside.kind === "ok" ? ok({ instance, vcn: outside.value, vnics: [] }) : outside,
        );
        continue;
      }
      if (first?.vnicId === undefined)
        members.set(instance.id, fault("Unavailable", `instance ${instance.id} has no attached VNIC`));
      else if (others.length > 0 || first.subnetId === undefined) several.push({ wanted: each, attached });
      else alone.push({ wanted: each, vnicId: first.vnicId, subnetId: first.subnetId });
    }
  }

  for (const { wanted: each, attached } of several)
    members.set(
      each.instance.id,
      await memberOf(each.instance, await vnicsAmong(each, attached, sources, turn), sources, turn),
    );

  const listed = alone.length > MAX_SINGLE ? await vnicsFromLists(alone, sources, turn) : NOT_LISTED;
  const doubtful = alone.filter(
    ({ wanted: each, vnicId }) => each.hadPublicIp && lacksPublicIp(listed.get(vnicId)),
  );
  const isRead = new Set(doubtful.slice(0, MAX_SINGLE).map(({ vnicId }) => vnicId));
  const isLeft = new Set(doubtful.slice(MAX_SINGLE).map(({ vnicId }) => vnicId));
  for (const { wanted: each, vnicId } of alone) {
    const fromList = isRead.has(vnicId) ? undefined : listed.get(vnicId);
    const vnic = isLeft.has(vnicId) ? LATER : (fromList ?? (await sources.inventory.vnic(vnicId, turn)));
    const vnics = vnic.kind === "ok" ? ok([vnic.value]) : vnic;
    members.set(each.instance.id, await memberOf(each.instance, vnics, sources, turn));
  }
  return members;
}

const NOT_LISTED: ReadonlyMap<string, Outcome<Vnic>> = new Map();

function lacksPublicIp(listed: Outcome<Vnic> | undefined): boolean {
  return listed?.kind === "ok" && listed.value.publicIp === undefined;
}

const LATER: Outcome<never> = fault(
  "Unavailable",
  `no list shows its public address, and this batch has read ${MAX_SINGLE} VNICs for that: it is looked for again`,
);

async function memberOf(
  instance: OciInstance,
  vnics: Outcome<readonly Vnic[]>,
  { inventory }: MemberSources,
  turn: Turn,
): Promise<Outcome<Member>> {
  if (vnics.kind === "fault") return vnics;
  const [primary] = vnics.value;
  if (primary === undefined) return fault("Unavailable", `instance ${instance.id} has no primary VNIC`);
  const vcn = await inventory.vcnOf(primary.subnetId, turn);
  return vcn.kind === "fault" ? vcn : ok({ instance, vcn: vcn.value, vnics: vnics.value });
}

/** The VCN of an instance of whose VNICs none is in the cluster's: nothing more is read of what is somebody else's. */
async function vcnOutside(
  attached: readonly VnicAttachment[],
  { inventory, config }: MemberSources,
  turn: Turn,
): Promise<Outcome<string> | undefined> {
  let outside: Outcome<string> | undefined;
  for (const { subnetId } of attached) {
    if (config.vcn === undefined || subnetId === undefined) return undefined;
    const vcn = await inventory.vcnOf(subnetId, turn);
    if (vcn.kind === "ok" && vcn.value === config.vcn) return undefined;
    outside ??= vcn;
  }
  return outside;
}

/** Detached VNICs are listed for a while, and say where the instance was. */
async function ended(
  instance: OciInstance,
  attachments: readonly VnicAttachment[],
  { inventory }: MemberSources,
  turn: Turn,
): Promise<Outcome<Member>> {
  const [first] = attachments.toSorted(byAge);
  if (first?.subnetId === undefined) return ok({ instance, vcn: undefined, vnics: [] });
  const vcn = await inventory.vcnOf(first.subnetId, turn);
  return vcn.kind === "fault" ? vcn : ok({ instance, vcn: vcn.value, vnics: [] });
}

/** The primary VNIC of several, which most often is the oldest, and the one of the boot volume where the instance is OpenShift's. */
async function vnicsAmong(
  { instance }: Wanted,
  attached: readonly VnicAttachment[],
  { inventory, primaries }: MemberSources,
  turn: Turn,
): Promise<Outcome<readonly Vnic[]>> {
  const namespace = openShiftNamespace(instance);
  const known = primaries.get(instance.id);
  const ids = attached.flatMap(({ vnicId }) => vnicId ?? []);
  const order = ids.toSorted((a, b) => Number(b === known) - Number(a === known));
  const read: Vnic[] = [];
  for (const id of order) {
    const vnic = await inventory.vnic(id, turn);
    if (vnic.kind === "fault") return vnic;
    read.push(vnic.value);
    if (vnic.value.isPrimary && namespace === undefined) break;
  }
  const primary = read.find(({ isPrimary }) => isPrimary);
  if (primary === undefined)
    return fault("Unavailable", `none of the VNICs of instance ${instance.id} is its primary one`);
  if (primaries.size >= MAX_PRIMARIES) primaries.clear();
  primaries.set(instance.id, primary.id);
  const second = secondVnicOf(read, namespace);
  return ok(second === undefined ? [primary] : [primary, second]);
}

async function attachmentsOfAll(
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

function isAttached({ lifecycleState, vnicId }: VnicAttachment): boolean {
  return lifecycleState === "ATTACHED" && vnicId !== undefined;
}

function byAge(a: VnicAttachment, b: VnicAttachment): number {
  return a.timeCreated < b.timeCreated ? -1 : Number(a.timeCreated > b.timeCreated);
}

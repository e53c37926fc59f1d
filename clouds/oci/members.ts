import type { Turn } from "#clouds/http/api.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { attachmentsOfAll, byAge, isAttached } from "#clouds/oci/attachments.ts";
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

/** Of a VNIC. */
export type IPv4Field = "privateIp" | "publicIp";

/** What is wanted of an instance beyond what everyone wants. */
export interface Wanted {
  readonly instance: OciInstance;
  readonly ipv6: boolean;
  /** IPv4 addresses that a node of it has: that it has none any more is looked up singly, as one list may not show it. */
  readonly had: readonly IPv4Field[];
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
      const known = knownPrimary(instance, attached, sources);
      if (known !== undefined) alone.push({ wanted: each, ...known });
      else if (first?.vnicId === undefined)
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
  const doubtful = alone.filter(({ wanted: { had }, vnicId }) => lacks(listed.get(vnicId), had));
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

function lacks(listed: Outcome<Vnic> | undefined, had: readonly IPv4Field[]): boolean {
  return listed?.kind === "ok" && had.some((field) => listed.value[field] === undefined);
}

const LATER: Outcome<never> = fault(
  "Unavailable",
  `no list shows an address that it had, and this batch has read ${MAX_SINGLE} VNICs for that: it is looked for again`,
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

/** The VNIC that was found to be the primary one before: as good as the only one, unless another one counts, too. */
function knownPrimary(
  instance: OciInstance,
  attached: readonly VnicAttachment[],
  { primaries }: MemberSources,
): { readonly vnicId: string; readonly subnetId: string } | undefined {
  const known = primaries.get(instance.id);
  if (known === undefined || openShiftNamespace(instance) !== undefined) return undefined;
  const subnetId = attached.find(({ vnicId }) => vnicId === known)?.subnetId;
  return subnetId === undefined ? undefined : { vnicId: known, subnetId };
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

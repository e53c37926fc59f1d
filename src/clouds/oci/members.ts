import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { hasEnded, type OciInstance, type Vnic, type VnicAttachment } from "#clouds/oci/objects.ts";
import {
  compareAge,
  type IPv4Field,
  isAttached,
  type MemberRequest,
  type MemberSources,
  readAttachments,
} from "#clouds/oci/query.ts";
import { type LoneVnic, readVnics } from "#clouds/oci/vnics-from-lists.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** An instance with the facts about its owner and its addresses. */
export interface Member {
  readonly instance: OciInstance;
  /**
   * The VCN of its primary VNIC. For a terminated instance that of its remaining VNICs; undefined if none is
   * left.
   */
  readonly vcn: string | undefined;
  /** The primary VNIC, and that of an OpenShift node's boot volume; empty for a terminated instance. */
  readonly vnics: readonly Vnic[];
}

/**
 * Up to this many instances have their VNICs read singly, with all facts in one answer; beyond, lists are
 * cheaper.
 */
const MAX_SINGLE = 10;

const MAX_PRIMARIES = 10_000;

/** Finds network and addresses of instances; a fault of one does not affect the others. */
export async function gatherMembers(
  requests: readonly MemberRequest[],
  sources: MemberSources,
  callContext: CallContext,
): Promise<ReadonlyMap<string, Outcome<Member>>> {
  const members = new Map<string, Outcome<Member>>();
  const attachments = await readAttachments(requests, sources, callContext);
  const loneVnics: LoneVnic[] = [];
  const multiVnicMembers: MultiVnicMember[] = [];
  for (const request of requests) {
    const found = attachments.get(request.instance.id) ?? ok([]);
    const located = await locateVnics(request, found, sources, callContext);
    if (located.kind === "lone") loneVnics.push(located.vnic);
    else if (located.kind === "multi") multiVnicMembers.push(located.member);
    else members.set(request.instance.id, located.member);
  }
  for (const { request, attached } of multiVnicMembers) {
    const vnics = await selectVnics(request, attached, sources, callContext);
    members.set(request.instance.id, await readMember(request.instance, vnics, sources, callContext));
  }
  for (const [id, member] of await readLoneMembers(loneVnics, sources, callContext)) members.set(id, member);
  return members;
}

/** An instance with several VNICs. Each is read, because any of them may be the primary one. */
interface MultiVnicMember {
  readonly request: MemberRequest;
  readonly attached: readonly VnicAttachment[];
}

/** The VNICs of an instance to read next, or its facts if no VNIC needs to be read. */
type LocatedVnics =
  | { readonly kind: "known"; readonly member: Outcome<Member> }
  | { readonly kind: "lone"; readonly vnic: LoneVnic }
  | { readonly kind: "multi"; readonly member: MultiVnicMember };

async function locateVnics(
  request: MemberRequest,
  found: Outcome<readonly VnicAttachment[]>,
  sources: MemberSources,
  callContext: CallContext,
): Promise<LocatedVnics> {
  const { instance } = request;
  if (found.kind === "fault") return { kind: "known", member: found };
  if (hasEnded(instance))
    return { kind: "known", member: await readEndedMember(instance, found.value, sources, callContext) };
  const attached = found.value.filter(isAttached).toSorted(compareAge);
  const [first, ...others] = attached;
  const outside = await readForeignVcn(attached, sources, callContext);
  if (outside !== undefined) {
    const member = outside.kind === "ok" ? ok({ instance, vcn: outside.value, vnics: [] }) : outside;
    return { kind: "known", member };
  }
  const primary = getKnownPrimary(instance, attached, sources);
  if (primary !== undefined) return { kind: "lone", vnic: { request, ...primary } };
  if (first?.vnicId === undefined)
    return {
      kind: "known",
      member: fault("Unavailable", `instance ${instance.id} has no attached VNIC`),
    };
  if (others.length > 0 || first.subnetId === undefined)
    return { kind: "multi", member: { request, attached } };
  return { kind: "lone", vnic: { request, vnicId: first.vnicId, subnetId: first.subnetId } };
}

/** Reads instances with one relevant VNIC: many from lists, and singly a few whose list lacks an address. */
async function readLoneMembers(
  loneVnics: readonly LoneVnic[],
  sources: MemberSources,
  callContext: CallContext,
): Promise<ReadonlyMap<string, Outcome<Member>>> {
  const members = new Map<string, Outcome<Member>>();
  const listed =
    loneVnics.length > MAX_SINGLE ? await readVnics(loneVnics, sources, callContext) : NOT_LISTED;
  const incomplete = loneVnics.filter(({ request, vnicId }) =>
    isLackingAddress(listed.get(vnicId), request.knownFields),
  );
  const singleReads = new Set(incomplete.slice(0, MAX_SINGLE).map(({ vnicId }) => vnicId));
  const deferredReads = new Set(incomplete.slice(MAX_SINGLE).map(({ vnicId }) => vnicId));
  for (const { request, vnicId } of loneVnics) {
    const fromList = singleReads.has(vnicId) ? undefined : listed.get(vnicId);
    const vnic = deferredReads.has(vnicId)
      ? DEFERRED_READ
      : (fromList ?? (await sources.inventory.readVnic(vnicId, callContext)));
    const vnics = vnic.kind === "ok" ? ok([vnic.value]) : vnic;
    members.set(request.instance.id, await readMember(request.instance, vnics, sources, callContext));
  }
  return members;
}

const NOT_LISTED: ReadonlyMap<string, Outcome<Vnic>> = new Map();

function isLackingAddress(listed: Outcome<Vnic> | undefined, knownFields: readonly IPv4Field[]): boolean {
  return listed?.kind === "ok" && knownFields.some((field) => listed.value[field] === undefined);
}

const DEFERRED_READ: Outcome<never> = fault(
  "Unavailable",
  `no list shows an address that it had, and this batch has read ${MAX_SINGLE} VNICs for that: the next batch looks for it again`,
);

async function readMember(
  instance: OciInstance,
  vnics: Outcome<readonly Vnic[]>,
  { inventory }: MemberSources,
  callContext: CallContext,
): Promise<Outcome<Member>> {
  if (vnics.kind === "fault") return vnics;
  const [primary] = vnics.value;
  if (primary === undefined) return fault("Unavailable", `instance ${instance.id} has no primary VNIC`);
  const vcn = await inventory.readVcn(primary.subnetId, callContext);
  return vcn.kind === "fault" ? vcn : ok({ instance, vcn: vcn.value, vnics: vnics.value });
}

/**
 * Returns the VNIC known to be the primary one: it serves like an only one, unless another one is needed too.
 */
function getKnownPrimary(
  instance: OciInstance,
  attached: readonly VnicAttachment[],
  { primaries }: MemberSources,
): { readonly vnicId: string; readonly subnetId: string } | undefined {
  const primaryId = primaries.get(instance.id);
  if (primaryId === undefined || getOpenShiftNamespace(instance) !== undefined) return undefined;
  const subnetId = attached.find(({ vnicId }) => vnicId === primaryId)?.subnetId;
  return subnetId === undefined ? undefined : { vnicId: primaryId, subnetId };
}

/**
 * Reads the VCN of an instance without a VNIC in the cluster's VCN: nothing more of a foreign instance is
 * read.
 */
async function readForeignVcn(
  attached: readonly VnicAttachment[],
  { inventory, config }: MemberSources,
  callContext: CallContext,
): Promise<Outcome<string> | undefined> {
  let outside: Outcome<string> | undefined;
  for (const { subnetId } of attached) {
    if (config.vcn === undefined || subnetId === undefined) return undefined;
    const vcn = await inventory.readVcn(subnetId, callContext);
    if (vcn.kind === "ok" && vcn.value === config.vcn) return undefined;
    outside ??= vcn;
  }
  return outside;
}

/** Detached VNICs stay listed for a while, and show where the instance was. */
async function readEndedMember(
  instance: OciInstance,
  attachments: readonly VnicAttachment[],
  { inventory }: MemberSources,
  callContext: CallContext,
): Promise<Outcome<Member>> {
  const [first] = attachments.toSorted(compareAge);
  if (first?.subnetId === undefined) return ok({ instance, vcn: undefined, vnics: [] });
  const vcn = await inventory.readVcn(first.subnetId, callContext);
  return vcn.kind === "fault" ? vcn : ok({ instance, vcn: vcn.value, vnics: [] });
}

/**
 * Selects the primary VNIC of several, usually the oldest, and the one of the boot volume for an OpenShift
 * instance.
 */
async function selectVnics(
  { instance }: MemberRequest,
  attached: readonly VnicAttachment[],
  { inventory, primaries }: MemberSources,
  callContext: CallContext,
): Promise<Outcome<readonly Vnic[]>> {
  const namespace = getOpenShiftNamespace(instance);
  const primaryId = primaries.get(instance.id);
  const ids = attached.flatMap(({ vnicId }) => vnicId ?? []);
  const order = ids.toSorted((a, b) => Number(b === primaryId) - Number(a === primaryId));
  const read: Vnic[] = [];
  for (const id of order) {
    const vnic = await inventory.readVnic(id, callContext);
    if (vnic.kind === "fault") return vnic;
    read.push(vnic.value);
    if (vnic.value.isPrimary && namespace === undefined) break;
  }
  const primary = read.find(({ isPrimary }) => isPrimary);
  if (primary === undefined)
    return fault("Unavailable", `none of the VNICs of instance ${instance.id} is its primary one`);
  if (primaries.size >= MAX_PRIMARIES) primaries.clear();
  primaries.set(instance.id, primary.id);
  const second = findSecondVnic(read, namespace);
  return ok(second === undefined ? [primary] : [primary, second]);
}

/** Returns the namespace of defined tags that marks an OpenShift instance; undefined for others. */
function getOpenShiftNamespace({ definedTags = {} }: OciInstance): string | undefined {
  return Object.keys(definedTags).find((namespace) => namespace.startsWith("openshift-"));
}

/** Finds the secondary VNIC of an OpenShift node's boot volume: its addresses belong to the node too. */
function findSecondVnic(vnics: readonly Vnic[], namespace: string | undefined): Vnic | undefined {
  if (namespace === undefined) return undefined;
  return vnics.find(
    ({ isPrimary, definedTags = {} }) =>
      !isPrimary && definedTags[namespace]?.["boot-volume-type"] === "ISCSI",
  );
}

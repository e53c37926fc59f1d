import type { CallContext } from "#clouds/http/meter.ts";
import type { Fault, Outcome } from "#clouds/http/outcome.ts";
import { COMPARTMENT_ANNOTATION, type OciCloudConfig } from "#clouds/oci/config.ts";
import type { Inventory } from "#clouds/oci/inventory.ts";
import { hasEnded, type OciInstance, type VnicAttachment } from "#clouds/oci/objects.ts";
import { isOcid } from "#clouds/oci/regions.ts";
import { ok } from "#clouds/outcome.ts";
import { type RejectedProviderID, rejectProviderID } from "#clouds/provider-id.ts";
import type { Node } from "#core/node/node.ts";

/** How to find a node's instance; `compartment` is its expected place, possibly written by a tenant. */
export type Query =
  | { readonly kind: "id"; readonly id: string; readonly compartment: string }
  | { readonly kind: "name"; readonly name: string }
  | RejectedProviderID;

/** Queries by provider ID if present, else by the node's name. */
export function buildQuery(node: Node, config: OciCloudConfig): Query {
  const { providerID } = node.spec;
  if (!providerID) return { kind: "name", name: node.metadata.name };
  const parsed = parseProviderID(providerID);
  if (parsed.kind !== "instance") return parsed;
  const compartment = node.metadata.annotations?.[COMPARTMENT_ANNOTATION] || config.compartment;
  return { kind: "id", id: parsed.id, compartment };
}

/** Formats the node and the query for the start of messages. */
export function formatSubject(node: Node, query: Query): string {
  const subject = `node ${node.metadata.name}`;
  switch (query.kind) {
    case "id":
      return `${subject}, looked for by instance ${query.id}`;
    case "name":
      return `${subject}, looked for by its name`;
    case "foreign":
    case "invalid":
      return subject;
  }
}

/** The result of the search for a node's instance. */
export type Resolution =
  /** `guess` if it matched by less than identity. Ownership is not checked yet. */
  { readonly kind: "instance"; readonly instance: OciInstance; readonly guess: boolean } | NoInstance;

/** Why there is no instance to continue with. */
export type NoInstance =
  /** Oracle's own statement, proven by a list. */
  { readonly kind: "absent"; readonly message: string } | { readonly kind: "fault"; readonly fault: Fault };

/** Builds the fault of several instances with one name. */
export function buildAmbiguousFault(ids: readonly string[]): Fault {
  const sorted = ids.toSorted();
  const message = `${sorted.length} instances answer to it, ${sorted.slice(0, 5).join(", ")}`;
  return { code: "Ambiguous", message };
}

/** Converts a fault to a resolution. */
export function toFailedResolution(fault: Fault): Resolution {
  return { kind: "fault", fault };
}

/** What an instance needs beyond the common facts. */
export interface MemberRequest {
  readonly instance: OciInstance;
  readonly ipv6: boolean;
  /**
   * IPv4 addresses that its node has. If a list does not show one, it is read singly, because one list may be
   * incomplete.
   */
  readonly knownFields: readonly IPv4Field[];
}

/** Sources of the network and the addresses of instances. */
export interface MemberSources {
  readonly inventory: Inventory;
  readonly config: OciCloudConfig;
  readonly primaries: KnownPrimaries;
  /** Lists that began at this time or later prove that a resource exists. */
  readonly since: number;
  /** Start of the batch. */
  readonly beganAt: number;
}

/** A field of a VNIC. */
export type IPv4Field = "privateIp" | "publicIp";

/** Instances by id; the primary VNIC of an instance never changes. */
export type KnownPrimaries = Map<string, string>;

/** The meaning of a provider ID: an instance, a resource of another cloud, or nothing. */
type ProviderID = { readonly kind: "instance"; readonly id: string } | RejectedProviderID;

const SCHEME = "oci://";

/**
 * Parses a provider ID: with the scheme, or the bare OCID with which kubelets of Oracle's own clusters start.
 */
export function parseProviderID(text: string): ProviderID {
  const isOurs = text.startsWith(SCHEME) || text.startsWith("ocid1.");
  if (!isOurs) return rejectProviderID("foreign", text, "its scheme is not oci, and it is not an OCID");
  const id = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  if (isOcid(id, "instance")) return { kind: "instance", id };
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in the OCID of an instance, which begins with ocid1.instance.",
  );
}

/** Formats the form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

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

import type { ObjectCount, ReadState, StateReference } from "#core/controller.ts";
import type { ClusterEvent, ClusterWrite, Decision, ObjectReference } from "#core/decision.ts";
import { type CloudKeys, findForeignField } from "#core/deferred-fields.ts";
import type { HandedBack } from "#core/handed-back.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { isSameJson } from "#core/json-patch.ts";
import {
  type AnnouncementFacts,
  faultOfAnnouncement,
  faultOfDeferredDeletion,
} from "#core/node-lifecycle/check-announcement.ts";
import { STATE_KEY } from "#core/node-lifecycle/state.ts";
import { keyOfName, type Resource } from "#core/resources/resource.ts";
import { RIGHTS } from "#core/rights.ts";
import type { Moment } from "#core/rounds.ts";
import type { DeletionSettings } from "#core/settings.ts";

/** What was sent, and for whom: what may be handed back is about that alone. */
export interface Sent {
  readonly identity: FunctionIdentity;
  readonly resource: Resource;
  /** By their places in the event; a place that holds no object has nothing decided on it. */
  readonly objects: ReadonlyMap<number, Identified>;
  /** Of related objects that went with them: Events may be about these, too. */
  readonly relatedUids: ReadonlySet<string>;
  /** What the batch was decided under, as it was read and sent. */
  readonly state:
    | { readonly reference: Omit<StateReference, "counted">; readonly read: ReadState }
    | undefined;
  /** How many objects there are, where the function was told. */
  readonly count?: ObjectCount | undefined;
  /** What the cluster's configuration says: which labels and annotations its cloud writes, and how nodes are deleted. */
  readonly keys: CloudKeys;
  readonly deletion: DeletionSettings;
  readonly now: Date;
}

interface Identified {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string; readonly uid: string };
}

/** Bytes of one decision as JSON: those of this build have 5 kB at the most. */
const MAX_DECISION_BYTES = 64_000;
/** Characters of a shared write: more than an API server takes. */
const MAX_SHARED_CHARACTERS = 1_500_000;
const MAX_WRITES = 8;
const MAX_EVENTS = 16;

/**
 * Why nothing of what a function hands back may be done: the first thing that no function of this build hands back for what it was
 * sent. Undefined where all is as it should be. Whatever a function has become, it reaches no object and no verb beyond these.
 */
export function faultOfHandedBack({ next, moment }: HandedBack, sent: Sent): string | undefined {
  switch (next.kind) {
    case "decisions":
      return first(faultsOfItems(next.items, { ...sent, moment }));
    case "shared":
      return faultOfShared(next.write, sent);
    case "read": {
      const { state, counted } = next;
      const { namespace, name } = state.at;
      if (
        !mayDo(
          sent.identity,
          { verb: "get", apiVersion: state.apiVersion, resource: state.name, namespace, name },
          true,
        )
      )
        return `asks for ${state.name} ${keyOfName(state.at)}, which ${sent.identity} is not decided under`;
      if (counted === undefined) return undefined;
      const count = { verb: "list", apiVersion: counted.apiVersion, resource: counted.name } as const;
      return mayDo(sent.identity, count) ? undefined : `asks for the number of ${counted.name}`;
    }
  }
}

type Items = Extract<HandedBack["next"], { readonly kind: "decisions" }>["items"];

/** What was sent, and the moment of what came back. */
interface Exchange extends Sent {
  readonly moment: Moment;
}

function* faultsOfItems(items: Items, sent: Exchange): Iterable<string | undefined> {
  const seen = new Set<number>();
  for (const { index, decision } of items) {
    const object = sent.objects.get(index);
    const place = `decision ${index}`;
    if (object === undefined) yield `${place} is on no object that was sent`;
    else if (seen.has(index)) yield `${place} stands there twice`;
    else yield* faultsOfDecision(place, decision, object, sent);
    seen.add(index);
  }
}

function* faultsOfDecision(
  place: string,
  decision: Decision,
  object: Identified,
  sent: Exchange,
): Iterable<string | undefined> {
  if (!isAbout(decision.object, object, sent.resource))
    yield `${place} is about another object than was sent`;
  if (JSON.stringify(decision).length > MAX_DECISION_BYTES) yield `${place} is larger than any decision`;
  if ("events" in decision) yield* faultsOfEvents(place, decision.events, object, sent);
  if (decision.kind !== "change") return;
  if (decision.writes.length > MAX_WRITES) yield `${place} has ${decision.writes.length} writes`;
  for (const write of decision.writes) {
    if (write.on === "cloud") yield `${place} has the cloud changed, which no relay does`;
    else yield faultOfWrite(place, write, object, sent);
  }
}

function* faultsOfEvents(
  place: string,
  events: readonly ClusterEvent[],
  { metadata: { uid } }: Identified,
  { relatedUids }: Sent,
): Iterable<string | undefined> {
  if (events.length > MAX_EVENTS) yield `${place} has ${events.length} Events`;
  const isKnown = (about: string): boolean => about === uid || relatedUids.has(about);
  if (!events.every(({ about }) => about === undefined || isKnown(about.uid)))
    yield `${place} has an Event about an object that was not sent`;
}

function faultOfWrite(
  place: string,
  write: ClusterWrite,
  object: Identified,
  sent: Exchange,
): string | undefined {
  const { namespace, name, uid } = object.metadata;
  const { identity, resource } = sent;
  const what = `${place} is a ${write.verb} of ${write.resource} ${keyOfName(write)}`;
  const isOfResource = write.apiVersion === resource.apiVersion && write.resource === resource.name;
  if (!isOfResource || write.name !== name || write.namespace !== namespace)
    return `${what}, and another object was sent`;
  if (write.verb === "create" || write.verb === "update") return `${what}, which is no decision on it`;
  if (!mayDo(identity, { ...write, ...targetOf(write) })) return `${what}, which ${identity} may not do`;
  const guarded =
    write.verb === "delete"
      ? write.precondition.uid
      : write.precondition.find(({ path }) => path === "/metadata/uid")?.value;
  if (guarded !== uid) return `${what} of another life of the object than was sent`;
  if (write.verb === "delete") {
    const { resourceVersion } = write.precondition;
    const fault = faultOfDeferredDeletion(uid, resourceVersion, sent.moment, announcementFacts(sent));
    return fault && `${what}, ${fault}`;
  }
  const field = findForeignField(identity, { write, object, keys: sent.keys });
  return field === undefined
    ? undefined
    : `${what} that writes ${field}, which ${identity} does not write so`;
}

function announcementFacts({ objects, state, count, deletion, now }: Sent): AnnouncementFacts {
  return { nodes: [...objects.values()], state: state?.read, count, settings: deletion, now };
}

/** The swap of what was read, and nothing of it but the state, which announces what may be. */
function faultOfShared(write: ClusterWrite, sent: Sent): string | undefined {
  const { identity, state } = sent;
  const what = `the shared write is a ${write.verb} of ${write.resource} ${keyOfName(write)}`;
  if (write.verb !== "update" || !mayDo(identity, { ...write, ...targetOf(write) }, true))
    return `${what}, which ${identity} may not do`;
  if (state?.read.kind !== "object") return `${what}, and nothing was read of it`;
  const { reference, read } = state;
  const isOfIt =
    write.apiVersion === reference.apiVersion &&
    write.resource === reference.name &&
    keyOfName(write) === keyOfName(reference.at);
  if (!isOfIt) return `${what}, and another object was read`;
  const before = partsOf(read.object);
  const after = partsOf(write.body);
  const { uid, resourceVersion } = before.metadata;
  const isSwap = write.precondition.uid === uid && write.precondition.resourceVersion === resourceVersion;
  if (!isSwap) return `${what}, and is not decided on what was read`;
  const isKept = isSameJson(before.metadata, after.metadata) && isSameJson(before.others, after.others);
  if (!isKept) return `${what}, and changes more than its data.${STATE_KEY}`;
  const { length } = JSON.stringify(write.body);
  if (length > MAX_SHARED_CHARACTERS) return `${what}, of ${length} characters`;
  const fault = faultOfAnnouncement(write.body, announcementFacts(sent));
  return fault && `${what} that ${fault}`;
}

interface Parts {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly others: Readonly<Record<string, unknown>>;
}

/** All but the state itself. */
function partsOf(object: unknown): Parts {
  const { metadata = {}, data = {}, ...others } = Object(object);
  const { [STATE_KEY]: _, ...otherData } = Object(data);
  const { managedFields: __, ...kept } = Object(metadata);
  return { metadata: kept, others: { ...others, data: otherData } };
}

function isAbout(reference: ObjectReference, { metadata }: Identified, resource: Resource): boolean {
  return (
    reference.apiVersion === resource.apiVersion &&
    reference.kind === resource.kind &&
    reference.namespace === metadata.namespace &&
    reference.name === metadata.name &&
    reference.uid === metadata.uid
  );
}

interface Wanted {
  readonly verb: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** An approval is a patch of a subresource, as RBAC sees it. */
function targetOf(write: ClusterWrite): Pick<Wanted, "verb" | "subresource"> {
  if (write.verb === "approve") return { verb: "patch", subresource: "approval" };
  return { verb: write.verb, subresource: "subresource" in write ? write.subresource : undefined };
}

/** Whether the identity has the right; with `named` only one to the object of that name counts, and not one to all of them. */
function mayDo(identity: FunctionIdentity, wanted: Wanted, named = false): boolean {
  const group = wanted.apiVersion.includes("/") ? wanted.apiVersion.split("/")[0] : "";
  return RIGHTS[identity].some(
    (right) =>
      right.verb === wanted.verb &&
      right.group === group &&
      right.resource === wanted.resource &&
      right.subresource === wanted.subresource &&
      (right.namespace === undefined || right.namespace === wanted.namespace) &&
      (right.name === undefined ? !named : right.name === wanted.name),
  );
}

function first(faults: Iterable<string | undefined>): string | undefined {
  for (const fault of faults) if (fault !== undefined) return fault;
  return undefined;
}

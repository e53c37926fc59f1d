import type { ObjectCount, StateReference, StateResult } from "#core/controller.ts";
import type { ClusterEvent, ClusterWrite, Decision } from "#core/decision.ts";
import { type CloudKeys, findForeignField } from "#core/deferred-fields.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { isSameJson } from "#core/json-patch.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import {
  type AnnouncementFacts,
  checkAnnouncement,
  checkDeferredDeletion,
} from "#core/node-lifecycle/check-announcement.ts";
import { STATE_KEY } from "#core/node-lifecycle/state.ts";
import type { ObjectReference } from "#core/reason.ts";
import type { DeferredWrites } from "#core/report.ts";
import { formatObjectKey, getApiGroup, type Resource } from "#core/resources/resource.ts";
import { RIGHTS } from "#core/rights.ts";
import type { Moment } from "#core/rounds.ts";

/** What the function was sent, and for which identity. Its deferred writes may concern nothing else. */
export interface SentContext {
  readonly identity: FunctionIdentity;
  readonly resource: Resource;
  /** By index in the event; no decision may be about an index without an object. */
  readonly objects: ReadonlyMap<number, IdentifiedObject>;
  /** The uids of related objects that were sent too: Events may be about them. */
  readonly relatedUids: ReadonlySet<string>;
  /** The state under which the batch was decided, as it was read and sent. */
  readonly state:
    | { readonly reference: Omit<StateReference, "counted">; readonly read: StateResult }
    | undefined;
  /** The number of objects, if the function received it. */
  readonly count?: ObjectCount | undefined;
  /**
   * The cluster's configuration: the labels and annotations that its cloud writes, and how nodes are deleted.
   */
  readonly keys: CloudKeys;
  readonly deletion: DeletionSettings;
  readonly now: Date;
}

interface IdentifiedObject {
  readonly metadata: { readonly namespace?: string | undefined; readonly name: string; readonly uid: string };
}

/** Bytes of one decision as JSON; those of this build have at most 5 kB. */
const MAX_DECISION_BYTES = 64_000;
/** Characters of a shared write; more than an API server accepts. */
const MAX_SHARED_CHARACTERS = 1_500_000;
const MAX_WRITES = 8;
const MAX_EVENTS = 16;

/**
 * Returns why a function's deferred writes must not be done: the first one that no function of this build
 * returns for what it was sent. Undefined if all are valid. So even a compromised function reaches no other
 * object and no other verb.
 */
export function checkDeferredWrites({ next, moment }: DeferredWrites, sent: SentContext): string | undefined {
  switch (next.kind) {
    case "decisions":
      return getFirstError(checkItems(next.items, { ...sent, moment }));
    case "shared":
      return checkSharedWrite(next.write, sent);
    case "read": {
      const { state, counted } = next;
      const { namespace, name } = state.at;
      if (
        !hasRight(
          sent.identity,
          { verb: "get", apiVersion: state.apiVersion, resource: state.name, namespace, name },
          true,
        )
      )
        return `asks for ${state.name} ${formatObjectKey(state.at)}, which ${sent.identity} is not decided under`;
      if (counted === undefined) return undefined;
      const count = { verb: "list", apiVersion: counted.apiVersion, resource: counted.name } as const;
      return hasRight(sent.identity, count) ? undefined : `asks for the number of ${counted.name}`;
    }
  }
}

type Items = Extract<DeferredWrites["next"], { readonly kind: "decisions" }>["items"];

/** What was sent, and the moment of the answer. */
interface Exchange extends SentContext {
  readonly moment: Moment;
}

function* checkItems(items: Items, sent: Exchange): Iterable<string | undefined> {
  const seen = new Set<number>();
  for (const { index, decision } of items) {
    const object = sent.objects.get(index);
    const place = `decision ${index}`;
    if (object === undefined) yield `${place} is on no object that was sent`;
    else if (seen.has(index)) yield `${place} stands there twice`;
    else yield* checkDecision(place, decision, object, sent);
    seen.add(index);
  }
}

function* checkDecision(
  place: string,
  decision: Decision,
  object: IdentifiedObject,
  sent: Exchange,
): Iterable<string | undefined> {
  if (!isAbout(decision.object, object, sent.resource))
    yield `${place} is about another object than was sent`;
  if (JSON.stringify(decision).length > MAX_DECISION_BYTES) yield `${place} is larger than any decision`;
  if ("events" in decision) yield* checkEvents(place, decision.events, object, sent);
  if (decision.kind !== "change") return;
  if (decision.writes.length > MAX_WRITES) yield `${place} has ${decision.writes.length} writes`;
  for (const write of decision.writes) {
    if (write.on === "cloud") yield `${place} has the cloud changed, which no relay does`;
    else yield checkWrite(place, write, object, sent);
  }
}

function* checkEvents(
  place: string,
  events: readonly ClusterEvent[],
  { metadata: { uid } }: IdentifiedObject,
  { relatedUids }: SentContext,
): Iterable<string | undefined> {
  if (events.length > MAX_EVENTS) yield `${place} has ${events.length} Events`;
  const isKnown = (about: string): boolean => about === uid || relatedUids.has(about);
  if (!events.every(({ about }) => about === undefined || isKnown(about.uid)))
    yield `${place} has an Event about an object that was not sent`;
}

function checkWrite(
  place: string,
  write: ClusterWrite,
  object: IdentifiedObject,
  sent: Exchange,
): string | undefined {
  const { namespace, name, uid } = object.metadata;
  const { identity, resource } = sent;
  const what = `${place} is a ${write.verb} of ${write.resource} ${formatObjectKey(write)}`;
  const isOfResource = write.apiVersion === resource.apiVersion && write.resource === resource.name;
  if (!isOfResource || write.name !== name || write.namespace !== namespace)
    return `${what}, and another object was sent`;
  if (write.verb === "create" || write.verb === "update") return `${what}, which is no decision on it`;
  if (!hasRight(identity, { ...write, ...selectRbacTarget(write) }))
    return `${what}, which ${identity} may not do`;
  const guarded =
    write.verb === "delete"
      ? write.precondition.uid
      : write.precondition.find(({ path }) => path === "/metadata/uid")?.value;
  if (guarded !== uid) return `${what} of another life of the object than was sent`;
  if (write.verb === "delete") {
    const { resourceVersion } = write.precondition;
    const fault = checkDeferredDeletion(uid, resourceVersion, sent.moment, buildAnnouncementFacts(sent));
    return fault && `${what}, ${fault}`;
  }
  const field = findForeignField(identity, { write, object, keys: sent.keys });
  return field === undefined
    ? undefined
    : `${what} that writes ${field}, which ${identity} does not write so`;
}

function buildAnnouncementFacts({ objects, state, count, deletion, now }: SentContext): AnnouncementFacts {
  return { nodes: [...objects.values()], state: state?.read, count, settings: deletion, now };
}

/**
 * The write must replace the state that was read, change only the state, and announce only permitted
 * deletions.
 */
function checkSharedWrite(write: ClusterWrite, sent: SentContext): string | undefined {
  const { identity, state } = sent;
  const what = `the shared write is a ${write.verb} of ${write.resource} ${formatObjectKey(write)}`;
  if (write.verb !== "update" || !hasRight(identity, { ...write, ...selectRbacTarget(write) }, true))
    return `${what}, which ${identity} may not do`;
  if (state?.read.kind !== "object") return `${what}, and nothing was read of it`;
  const { reference, read } = state;
  const isOfIt =
    write.apiVersion === reference.apiVersion &&
    write.resource === reference.name &&
    formatObjectKey(write) === formatObjectKey(reference.at);
  if (!isOfIt) return `${what}, and another object was read`;
  const before = splitStateMap(read.object);
  const after = splitStateMap(write.body);
  const { uid, resourceVersion } = before.metadata;
  const isSwap = write.precondition.uid === uid && write.precondition.resourceVersion === resourceVersion;
  if (!isSwap) return `${what}, and is not decided on what was read`;
  const isKept = isSameJson(before.metadata, after.metadata) && isSameJson(before.others, after.others);
  if (!isKept) return `${what}, and changes more than its data.${STATE_KEY}`;
  const { length } = JSON.stringify(write.body);
  if (length > MAX_SHARED_CHARACTERS) return `${what}, of ${length} characters`;
  const fault = checkAnnouncement(write.body, buildAnnouncementFacts(sent));
  return fault && `${what} that ${fault}`;
}

interface Parts {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly others: Readonly<Record<string, unknown>>;
}

/** Everything except the state itself. */
function splitStateMap(object: unknown): Parts {
  const { metadata = {}, data = {}, ...others } = Object(object);
  const { [STATE_KEY]: _, ...otherData } = Object(data);
  const { managedFields: __, ...kept } = Object(metadata);
  return { metadata: kept, others: { ...others, data: otherData } };
}

function isAbout(reference: ObjectReference, { metadata }: IdentifiedObject, resource: Resource): boolean {
  return (
    reference.apiVersion === resource.apiVersion &&
    reference.kind === resource.kind &&
    reference.namespace === metadata.namespace &&
    reference.name === metadata.name &&
    reference.uid === metadata.uid
  );
}

interface RequestedAccess {
  readonly verb: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** RBAC treats an approval as a patch of a subresource. */
function selectRbacTarget(write: ClusterWrite): Pick<RequestedAccess, "verb" | "subresource"> {
  if (write.verb === "approve") return { verb: "patch", subresource: "approval" };
  return { verb: write.verb, subresource: "subresource" in write ? write.subresource : undefined };
}

/** Whether the identity has the right. With `named`, only a right to that one object name counts. */
function hasRight(identity: FunctionIdentity, wanted: RequestedAccess, named = false): boolean {
  const group = getApiGroup(wanted);
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

function getFirstError(faults: Iterable<string | undefined>): string | undefined {
  for (const fault of faults) if (fault !== undefined) return fault;
  return undefined;
}

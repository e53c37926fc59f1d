import * as z from "zod";
import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { ReadState, StateReference } from "#core/controller.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { faultsOf } from "#core/faults.ts";
import { CONFIG_MAPS } from "#core/resources/resource.ts";

/** Where the state of deletion is: one object in each cluster, made by `infra/state`. */
export const STATE: StateReference = {
  apiVersion: CONFIG_MAPS.apiVersion,
  name: CONFIG_MAPS.name,
  at: { namespace: SYSTEM_NAMESPACE, name: STATE_CONFIG_MAP },
};

/** The key of its data that holds the document, as JSON. */
export const STATE_KEY = "state";

/** The version of the document that this build reads and writes. */
export const STATE_VERSION = 1;

/** Of so many nodes it is remembered that their instance was not found; others wait until there is room. */
export const MAX_ABSENCES = 1_000;

/** So many deletions are remembered, which bounds those of a day. */
export const MAX_DELETIONS = 2_000;

/** Characters of the document that are read: more than the bounds of its entries let it become. */
export const MAX_STATE_CHARACTERS = 700_000;

/** Seconds for which an intent is somebody's: whoever wrote it deletes the node by then, or not at all. */
export const INTENT_SECONDS = 60;

/** Seconds by which the clocks of two writers may differ. */
export const CLOCK_SECONDS = 60;

const Moment = z.iso.datetime();
const Uid = z.string().min(1).max(128);
/** By whose clock: times of two clocks are not compared to the second. */
const Clock = z.string().min(1).max(16);

/** That an instance was not found, with the proof that it was looked for in the right place. */
export const Absence = z.strictObject({ first: Moment, last: Moment, clock: Clock });
export type Absence = z.output<typeof Absence>;

/** That a node is being deleted, or was: written before the DELETE is sent, and an intent for `INTENT_SECONDS`. */
export const Deletion = z.strictObject({
  at: Moment,
  clock: Clock,
  /** How many nodes the cluster had right before. */
  nodes: z.int().min(1),
  /** Whether the brake counts it; what the cloud shows as terminated it does not. */
  counted: z.boolean(),
});
export type Deletion = z.output<typeof Deletion>;

/** What the brake was pulled by. */
export const BrakeLimit = z.enum(["TenMinutes", "Day", "AllNodes"]);
export type BrakeLimit = z.output<typeof BrakeLimit>;

/** Pulled, since when and at what; nothing but `resetBrake` lets it go. */
export const Brake = z.strictObject({
  since: Moment,
  limit: BrakeLimit,
  /** Nodes of the cluster at that moment … */
  nodes: z.int().min(0),
  /** … deletions that counted by then, and nodes that would have been deleted too. */
  deleted: z.int().min(0),
  waiting: z.int().min(0),
});
export type Brake = z.output<typeof Brake>;

/** What deletion has to remember of a cluster; keys are the uids of nodes. */
export const DeletionState = z.strictObject({
  version: z.literal(STATE_VERSION),
  written: Moment.optional(),
  absences: z.record(Uid, Absence).refine(hasAtMost(MAX_ABSENCES), "too many entries").prefault({}),
  deletions: z.record(Uid, Deletion).refine(hasAtMost(MAX_DELETIONS), "too many entries").prefault({}),
  brake: Brake.optional(),
});
export type DeletionState = z.output<typeof DeletionState>;

/** Why the state cannot be used: nothing is deleted then. */
export type UnusableCode = "StateMissing" | "StateUnreadable" | "StateMalformed" | "StateOfOtherVersion";

/** The state as it was read, with what a write of it has to name; or why it cannot be used. */
export type StoredState =
  | { readonly kind: "state"; readonly state: DeletionState; readonly configMap: StateConfigMap }
  | { readonly kind: "unusable"; readonly code: UnusableCode; readonly message: string };

/** Nothing is remembered: no node is missed, none was deleted, the brake is not pulled. */
export function emptyState(): DeletionState {
  return { version: STATE_VERSION, absences: {}, deletions: {} };
}

/** Reads the state out of its ConfigMap, as the API server answered; never throws. One that nothing was ever written to is empty. */
export function readState(read: ReadState | undefined): StoredState {
  if (read === undefined || read.kind === "absent") return unusable("StateMissing", MISSING);
  if (read.kind === "unreadable")
    return unusable("StateUnreadable", `${NAME} cannot be read: ${read.message}`);
  const parsed = StateConfigMap.safeParse(read.object);
  if (!parsed.success) return unusable("StateMalformed", `${NAME} is no ConfigMap with an identity`);
  const text = parsed.data.data?.[STATE_KEY];
  if (text === undefined) return { kind: "state", state: emptyState(), configMap: parsed.data };
  return readDocument(text, parsed.data);
}

/** The write that puts the state in the place of the one that was read, and is refused where that has changed meanwhile. */
export function writeState(state: DeletionState, { metadata, ...others }: StateConfigMap): ClusterWrite {
  // Absent, they stay as they are.
  const { managedFields: _, ...kept } = metadata;
  return {
    on: "cluster",
    apiVersion: STATE.apiVersion,
    resource: STATE.name,
    namespace: SYSTEM_NAMESPACE,
    name: STATE_CONFIG_MAP,
    verb: "update",
    body: { ...others, metadata: kept, data: { ...others.data, [STATE_KEY]: JSON.stringify(state) } },
    precondition: { uid: metadata.uid, resourceVersion: metadata.resourceVersion },
  };
}

/**
 * The state with the brake let go and counting from anew, for an operator who has looked. Deletions that may still be under way
 * go on to count.
 */
export function resetBrake({ brake: _, ...state }: DeletionState, now: Date): DeletionState {
  const isUnderWay = ({ at }: Deletion): boolean =>
    Math.abs(secondsSince(at, now)) < INTENT_SECONDS + CLOCK_SECONDS;
  const underWay = Object.entries(state.deletions).filter(([, deletion]) => isUnderWay(deletion));
  return { ...state, written: now.toISOString(), absences: {}, deletions: Object.fromEntries(underWay) };
}

/** Seconds since a moment of the state; less than none where that is of a clock that runs ahead. */
export function secondsSince(moment: string, now: Date): number {
  return (now.getTime() - Date.parse(moment)) / 1_000;
}

const NAME = `ConfigMap ${SYSTEM_NAMESPACE}/${STATE_CONFIG_MAP}`;
const MISSING = `there is no ${NAME}: apply infra/state/config-map.yaml`;

/** As much of the ConfigMap as is read; the rest is written back as it was. */
const StateConfigMap = z.looseObject({
  metadata: z.looseObject({ uid: z.string().min(1), resourceVersion: z.string().min(1) }),
  data: z.record(z.string(), z.string()).optional(),
});
/** The ConfigMap as it was read. */
export type StateConfigMap = z.output<typeof StateConfigMap>;

const AnyVersion = z.looseObject({ version: z.unknown() });

function readDocument(text: string, configMap: StateConfigMap): StoredState {
  const malformed = (what: string): StoredState =>
    unusable("StateMalformed", `key "${STATE_KEY}" of ${NAME} ${what}: delete the key to start anew`);
  if (text.length > MAX_STATE_CHARACTERS) return malformed(`has ${text.length} characters`);
  const json = parsedJson(text);
  const versioned = AnyVersion.safeParse(json);
  if (!versioned.success) return malformed("is no JSON object");
  if (versioned.data.version !== STATE_VERSION) {
    const message = `key "${STATE_KEY}" of ${NAME} is not of version ${STATE_VERSION}, which this build writes`;
    return unusable("StateOfOtherVersion", message);
  }
  const parsed = DeletionState.safeParse(json);
  if (parsed.success) return { kind: "state", state: parsed.data, configMap };
  return malformed(`is not what was written: ${faultsOf(parsed.error)[0]?.message}`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unusable(code: UnusableCode, message: string): StoredState {
  return { kind: "unusable", code, message };
}

function hasAtMost(entries: number): (record: Readonly<Record<string, unknown>>) => boolean {
  return (record) => Object.keys(record).length <= entries;
}

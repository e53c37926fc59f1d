import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import { STATE_CONFIG_MAP, SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { StateReference, StateResult } from "#core/controller.ts";
import type { ClusterWrite } from "#core/decision.ts";
import { parseJson } from "#core/parse-json.ts";
import { CONFIG_MAPS } from "#core/resources/resource.ts";

/** The place of the deletion state: one object in each cluster, created by `infra/state`. */
export const STATE: StateReference = {
  apiVersion: CONFIG_MAPS.apiVersion,
  name: CONFIG_MAPS.name,
  at: { namespace: SYSTEM_NAMESPACE, name: STATE_CONFIG_MAP },
};

/** The data key of the document, as JSON. */
export const STATE_KEY = "state";

/** The version of the document that this build reads and writes. */
export const STATE_VERSION = 1;

/** The maximum number of recorded absences; other nodes wait until there is room. */
export const MAX_ABSENCES = 1_000;

/** The maximum number of recorded deletions, which also limits those of a day. */
export const MAX_DELETIONS = 2_000;

/** The maximum characters of the document that are read: more than its entries can need. */
export const MAX_STATE_CHARACTERS = 700_000;

/** Seconds for which an intent is valid: its writer deletes the node within them, or not at all. */
export const INTENT_SECONDS = 60;

/** Seconds by which the clocks of two writers may differ. */
export const CLOCK_SECONDS = 60;

const Moment = z.iso.datetime();
const Uid = z.string().min(1).max(128);
/** The process whose clock was read: times of two clocks are not compared to the second. */
const Clock = z.string().min(1).max(16);

/** A recorded "not found" of an instance, with proof that the right place was searched. */
export const Absence = z.strictObject({ first: Moment, last: Moment, clock: Clock });
export type Absence = z.output<typeof Absence>;

/** A deletion of a node: recorded before the DELETE is sent, and an intent for `INTENT_SECONDS`. */
export const Deletion = z.strictObject({
  at: Moment,
  clock: Clock,
  /** The number of nodes in the cluster right before it. */
  nodes: z.int().min(1),
  /** Whether the brake counts it; it does not if the cloud shows the instance as terminated. */
  counted: z.boolean(),
});
export type Deletion = z.output<typeof Deletion>;

/** The limit that engaged the brake. */
export const BrakeLimit = z.enum(["TenMinutes", "Day", "AllNodes"]);
export type BrakeLimit = z.output<typeof BrakeLimit>;

/** An engaged brake: since when and by what. Only `resetBrake` releases it. */
export const Brake = z.strictObject({
  since: Moment,
  limit: BrakeLimit,
  /** The number of nodes in the cluster then. */
  nodes: z.int().min(0),
  /** The deletions that counted then, and the number of nodes that wait for the brake. */
  deleted: z.int().min(0),
  waiting: z.int().min(0),
});
export type Brake = z.output<typeof Brake>;

/** The deletion state of a cluster; keys are uids of nodes. */
export const DeletionState = z.strictObject({
  version: z.literal(STATE_VERSION),
  written: Moment.optional(),
  absences: z.record(Uid, Absence).refine(hasAtMost(MAX_ABSENCES), "too many entries").prefault({}),
  deletions: z.record(Uid, Deletion).refine(hasAtMost(MAX_DELETIONS), "too many entries").prefault({}),
  brake: Brake.optional(),
});
export type DeletionState = z.output<typeof DeletionState>;

/** Why the state is unusable: then nothing is deleted. */
export type UnusableCode = "StateMissing" | "StateUnreadable" | "StateMalformed" | "StateOfOtherVersion";

/** The state as read, with the fields that a write of it needs; or why it is unusable. */
export type StoredState =
  | { readonly kind: "state"; readonly state: DeletionState; readonly configMap: StateConfigMap }
  | { readonly kind: "unusable"; readonly code: UnusableCode; readonly message: string };

/** Returns a state without absences and deletions, with the brake released. */
export function createEmptyState(): DeletionState {
  return { version: STATE_VERSION, absences: {}, deletions: {} };
}

/**
 * Parses the state from the API server's answer about its ConfigMap; never throws. A state that was never
 * written is empty.
 */
export function readState(read: StateResult | undefined): StoredState {
  if (read === undefined || read.kind === "absent") return createUnusableState("StateMissing", MISSING);
  if (read.kind === "unreadable")
    return createUnusableState("StateUnreadable", `${NAME} cannot be read: ${read.message}`);
  const parsed = StateConfigMap.safeParse(read.object);
  if (!parsed.success)
    return createUnusableState("StateMalformed", `${NAME} is not a ConfigMap with an identity`);
  const text = parsed.data.data?.[STATE_KEY];
  if (text === undefined) return { kind: "state", state: createEmptyState(), configMap: parsed.data };
  return readDocument(text, parsed.data);
}

/**
 * Returns the write that replaces the state that was read. The API server rejects it if the state has changed
 * since.
 */
export function writeState(state: DeletionState, { metadata, ...others }: StateConfigMap): ClusterWrite {
  // Absent fields stay unchanged.
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
 * Returns the state with the brake released and its counts reset, for an operator who has checked the cause.
 * Deletions that may still be in progress continue to count.
 */
export function resetBrake({ brake: _, ...state }: DeletionState, now: Date): DeletionState {
  const isUnderWay = ({ at }: Deletion): boolean =>
    Math.abs(getSecondsSince(at, now)) < INTENT_SECONDS + CLOCK_SECONDS;
  const underWay = Object.entries(state.deletions).filter(([, deletion]) => isUnderWay(deletion));
  return { ...state, written: now.toISOString(), absences: {}, deletions: Object.fromEntries(underWay) };
}

/** Returns the seconds since a time in the state; negative if its clock was ahead. */
export function getSecondsSince(moment: string, now: Date): number {
  return (now.getTime() - Date.parse(moment)) / 1_000;
}

const NAME = `ConfigMap ${SYSTEM_NAMESPACE}/${STATE_CONFIG_MAP}`;
const MISSING = `there is no ${NAME}: apply infra/state/config-map.yaml`;

/** The fields of the ConfigMap that are read; the rest is written back unchanged. */
const StateConfigMap = z.looseObject({
  metadata: z.looseObject({ uid: z.string().min(1), resourceVersion: z.string().min(1) }),
  data: z.record(z.string(), z.string()).optional(),
});
/** The ConfigMap as read. */
export type StateConfigMap = z.output<typeof StateConfigMap>;

const AnyVersion = z.looseObject({ version: z.unknown() });

function readDocument(text: string, configMap: StateConfigMap): StoredState {
  const malformed = (what: string): StoredState =>
    createUnusableState(
      "StateMalformed",
      `key "${STATE_KEY}" of ${NAME} ${what}: delete the key to start anew`,
    );
  if (text.length > MAX_STATE_CHARACTERS) return malformed(`has ${text.length} characters`);
  const json = parseJson(text);
  const versioned = AnyVersion.safeParse(json);
  if (!versioned.success) return malformed("is not a JSON object");
  if (versioned.data.version !== STATE_VERSION) {
    const message = `key "${STATE_KEY}" of ${NAME} is not of version ${STATE_VERSION}, which this build writes`;
    return createUnusableState("StateOfOtherVersion", message);
  }
  const parsed = DeletionState.safeParse(json);
  if (parsed.success) return { kind: "state", state: parsed.data, configMap };
  return malformed(`is not what was written: ${listFaults(parsed.error)[0]?.message}`);
}

function createUnusableState(code: UnusableCode, message: string): StoredState {
  return { kind: "unusable", code, message };
}

function hasAtMost(entries: number): (record: Readonly<Record<string, unknown>>) => boolean {
  return (record) => Object.keys(record).length <= entries;
}

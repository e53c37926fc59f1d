import { describe, expect, test } from "vitest";
import {
  createEmptyState,
  type DeletionState,
  MAX_ABSENCES,
  MAX_DELETIONS,
  MAX_STATE_CHARACTERS,
  readState,
  resetBrake,
  STATE_KEY,
  writeState,
} from "#core/node-lifecycle/state.ts";
import { getTime, START } from "#test/core/node-lifecycle/builders.ts";

const MOMENT = START.toISOString();
const metadata = { name: "serverless-ccm", uid: "u", resourceVersion: "7" };
const absence = { first: MOMENT, last: MOMENT, clock: "a" };
const deletion = { at: MOMENT, clock: "a", nodes: 3, counted: true };

const read = (state: unknown) =>
  readState({ kind: "object", object: { metadata, data: { [STATE_KEY]: state } } });
const document = (difference: Record<string, unknown> = {}) => JSON.stringify({ version: 1, ...difference });
const many = (count: number, value: unknown, length = 36) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`.padStart(length, "0"), value]));

describe("the state", () => {
  test.each([
    ["was never written: it is empty", { metadata }],
    ["was never written, and the ConfigMap holds something else", { metadata, data: { note: "x" } }],
  ])("%s", (_, object) => {
    expect(readState({ kind: "object", object })).toMatchObject({ kind: "state", state: createEmptyState() });
  });

  test("is parsed as written", () => {
    const state: DeletionState = {
      version: 1,
      written: MOMENT,
      absences: { "uid-1": absence },
      deletions: { "uid-2": deletion },
      brake: { since: MOMENT, limit: "Day", nodes: 3, deleted: 1, waiting: 2 },
    };
    expect(read(JSON.stringify(state))).toMatchObject({ kind: "state", state });
  });

  test.each([
    ["it was not read", undefined, "StateMissing"],
    ["it does not exist", { kind: "absent" } as const, "StateMissing"],
    ["it cannot be read", { kind: "unreadable", message: "403" } as const, "StateUnreadable"],
    ["it is no object of Kubernetes", { kind: "object", object: { data: {} } } as const, "StateMalformed"],
    [
      "its data is no map of texts",
      { kind: "object", object: { metadata, data: 7 } } as const,
      "StateMalformed",
    ],
  ])("is unusable if %s", (_, state, code) => {
    expect(readState(state)).toMatchObject({ kind: "unusable", code });
  });

  test.each([
    ["empty", "", "StateMalformed"],
    ["rubbish", "{{{", "StateMalformed"],
    ["null", "null", "StateMalformed"],
    ["a list", "[]", "StateMalformed"],
    ["without a version", "{}", "StateMalformed"],
    ["of another version", document({ version: 2 }), "StateOfOtherVersion"],
    ["with an invalid time", document({ absences: { u: { ...absence, first: "soon" } } }), "StateMalformed"],
    ["with an unknown key", document({ deletedSoFar: 0 }), "StateMalformed"],
    ["with a number in place of a map", document({ deletions: 7 }), "StateMalformed"],
    ["with too many absences", document({ absences: many(MAX_ABSENCES + 1, absence) }), "StateMalformed"],
    ["with too many deletions", document({ deletions: many(MAX_DELETIONS + 1, deletion) }), "StateMalformed"],
    ["huge", `${document()}${" ".repeat(MAX_STATE_CHARACTERS)}`, "StateMalformed"],
  ])("is unusable if its text is %s", (_, text, code) => {
    const unusable = read(text);
    expect(unusable).toMatchObject({ kind: "unusable", code });
    expect(unusable.kind === "unusable" && unusable.message).toContain("kube-system/serverless-ccm");
  });

  test("is accepted at its maximum size", () => {
    const state = {
      ...createEmptyState(),
      written: MOMENT,
      absences: many(MAX_ABSENCES, { ...absence, clock: "c".repeat(16) }, 128),
      deletions: many(MAX_DELETIONS, { ...deletion, clock: "c".repeat(16), nodes: 100_000 }, 128),
    };
    expect(read(JSON.stringify(state)).kind).toBe("state");
  });

  test("is written over the version as read, and keeps the rest of the ConfigMap", () => {
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { ...metadata, labels: { a: "b" }, managedFields: [{ manager: "kubectl" }] },
      data: { note: "x", [STATE_KEY]: document() },
      immutable: false,
    };
    const stored = readState({ kind: "object", object });
    if (stored.kind !== "state") throw new Error(stored.message);
    expect(writeState(createEmptyState(), stored.configMap)).toEqual({
      on: "cluster",
      apiVersion: "v1",
      resource: "configmaps",
      namespace: "kube-system",
      name: "serverless-ccm",
      verb: "update",
      precondition: { uid: "u", resourceVersion: "7" },
      body: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { ...metadata, labels: { a: "b" } },
        data: { note: "x", [STATE_KEY]: JSON.stringify(createEmptyState()) },
        immutable: false,
      },
    });
  });

  test("with its brake reset counts only deletions in progress", () => {
    const state: DeletionState = {
      version: 1,
      absences: { "uid-1": absence },
      deletions: {
        "under-way": { ...deletion, at: getTime(-30).toISOString() },
        done: { ...deletion, at: getTime(-300).toISOString() },
        "of a clock that is an hour ahead": { ...deletion, at: getTime(3_600).toISOString() },
      },
      brake: { since: MOMENT, limit: "Day", nodes: 3, deleted: 1, waiting: 2 },
    };
    expect(resetBrake(state, START)).toEqual({
      version: 1,
      written: MOMENT,
      absences: {},
      deletions: { "under-way": state.deletions["under-way"] },
    });
  });
});

import { describe, expect, test } from "vitest";
import { DeletionSettings } from "#core/node/settings.ts";
import {
  type AnnouncementFacts,
  checkAnnouncement,
  checkDeferredDeletion,
} from "#core/node-lifecycle/check-announcement.ts";
import {
  type Brake,
  createEmptyState,
  type Deletion,
  type DeletionState,
} from "#core/node-lifecycle/state.ts";
import { buildLifecycleNode, getTime, START } from "#test/core/node-lifecycle/builders.ts";
import { buildConfigMapData } from "#test/core/node-lifecycle/world.ts";

const MOMENT = { now: START.toISOString(), clock: "abc" };
const COUNTED: Deletion = { at: MOMENT.now, clock: MOMENT.clock, nodes: 10, counted: true };
const UNCOUNTED: Deletion = { ...COUNTED, counted: false };
const PULLED: Brake = {
  since: getTime(-60).toISOString(),
  limit: "TenMinutes",
  nodes: 10,
  deleted: 2,
  waiting: 1,
};

const configMap = (state: Partial<DeletionState> = {}) => ({
  metadata: { uid: "s-1", resourceVersion: "7" },
  data: buildConfigMapData({ ...createEmptyState(), ...state }),
});

/** Ten nodes, of which five were sent and are silent. */
function facts(
  difference: Partial<AnnouncementFacts> = {},
  state: Partial<DeletionState> = {},
): AnnouncementFacts {
  return {
    nodes: [1, 2, 3, 4, 5].map((number) => buildLifecycleNode(number)),
    state: { kind: "object", object: configMap(state) },
    count: { kind: "count", count: 10 },
    settings: DeletionSettings.parse({}),
    now: START,
    ...difference,
  };
}

const age = (seconds: number, deletion = COUNTED): Deletion => ({
  ...deletion,
  at: getTime(-seconds).toISOString(),
});
const all = (deletion: Deletion) =>
  Object.fromEntries([1, 2, 3, 4, 5].map((number) => [`uid-${number}`, deletion]));
const announced = (deletions: DeletionState["deletions"], brake?: Brake): Partial<DeletionState> => ({
  deletions,
  ...(brake && { brake }),
});

describe("checkAnnouncement accepts a deletion state that", () => {
  test.each<[string, Partial<DeletionState>, AnnouncementFacts]>([
    ["announces a deletion", announced({ "uid-1": COUNTED }), facts()],
    [
      "announces as many deletions as the brake allows",
      announced({ "uid-1": COUNTED, "uid-2": COUNTED }),
      facts(),
    ],
    ["announces the deletion of all nodes with terminated instances", announced(all(UNCOUNTED)), facts()],
    ["announces nothing", {}, facts()],
    ["engages the brake", announced({ "uid-1": COUNTED, "uid-2": COUNTED }, PULLED), facts()],
    [
      "announces an uncounted deletion while the brake stays engaged",
      announced({ "uid-1": UNCOUNTED }, PULLED),
      facts({}, { brake: PULLED }),
    ],
    [
      "announces again what an earlier state announced",
      announced({ "uid-1": COUNTED }),
      facts({}, announced({ "uid-1": age(90) })),
    ],
    ["removes a deletion that no longer counts", {}, facts({}, announced({ "uid-9": age(86_530) }))],
    [
      "removes a deletion that no longer counts by a clock one minute ahead",
      {},
      facts({}, announced({ "uid-9": age(86_470) })),
    ],
    [
      "announces the deletion of a node without an observed instance, with deletion.unseen",
      announced({ "uid-1": COUNTED }),
      facts({
        nodes: [buildLifecycleNode(1, { annotations: {} })],
        settings: DeletionSettings.parse({ unseen: true }),
      }),
    ],
  ])("%s", (_, state, known) => {
    expect(checkAnnouncement(configMap(state), known)).toBeUndefined();
  });
});

describe("checkAnnouncement rejects a deletion state that", () => {
  const one = announced({ "uid-1": COUNTED });
  test.each<[string, unknown, AnnouncementFacts, string]>([
    [
      "replaces an object that could not be parsed",
      { metadata: {}, data: {} },
      facts(),
      "could not be read any more",
    ],
    [
      "replaces a malformed state",
      configMap(),
      facts({ state: { kind: "object", object: { ...configMap(), data: buildConfigMapData("rubbish") } } }),
      "cannot be read as it is",
    ],
    [
      "replaces a state that was not read",
      configMap(),
      facts({ state: undefined }),
      "cannot be read as it is",
    ],
    ["releases the brake", configMap(), facts({}, { brake: PULLED }), "changes the brake"],
    [
      "announces the deletion of a node that was not sent",
      configMap(announced({ "uid-9": COUNTED })),
      facts(),
      "announces the deletion of node uid-9, which was not sent",
    ],
    [
      "announces the deletion of a Ready node",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { ready: "True" })] }),
      "announces the deletion of node node-1, whose status.conditions say that it is Ready",
    ],
    [
      "announces the deletion of a node without an observed instance",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { annotations: {} })] }),
      "which was never seen with the instance",
    ],
    [
      "announces the deletion of a node whose provider ID names another instance",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { providerID: "aws:///eu-central-1a/i-9" })] }),
      "which was never seen with the instance",
    ],
    [
      "announces a deletion while node deletion is disabled",
      configMap(one),
      facts({ settings: DeletionSettings.parse({ enabled: false }) }),
      "says that nodes are not deleted",
    ],
    [
      "announces a deletion in the future",
      configMap(announced({ "uid-1": age(-121) })),
      facts(),
      "which is not now",
    ],
    [
      "announces a deletion in the past",
      configMap(announced({ "uid-1": age(121) })),
      facts(),
      "which is not now",
    ],
    [
      "announces deletions with different times, of which the brake would count one",
      configMap(announced({ "uid-1": COUNTED, "uid-2": age(1) })),
      facts(),
      "deletions of several moments",
    ],
    [
      "claims more nodes than were counted",
      configMap(announced({ "uid-1": { ...COUNTED, nodes: 1_000 } })),
      facts(),
      "of another size than its 10 nodes",
    ],
    [
      "announces a deletion while the number of nodes is unknown",
      configMap(one),
      facts({ count: { kind: "unknown", message: "" } }),
      "how many nodes there are is not known",
    ],
    [
      "announces more deletions than the brake allows",
      configMap(announced({ "uid-1": COUNTED, "uid-2": COUNTED, "uid-3": COUNTED })),
      facts(),
      "announces 3 deletions that count, which is beyond the brake's limit TenMinutes",
    ],
    [
      "announces the deletion of all nodes",
      configMap(announced({ "uid-1": { ...COUNTED, nodes: 1 } })),
      facts({ count: { kind: "count", count: 1 } }),
      "beyond the brake's limit AllNodes",
    ],
    [
      "announces a counted deletion while the brake is engaged",
      configMap(announced({ "uid-1": COUNTED }, PULLED)),
      facts({}, { brake: PULLED }),
      "announces 1 deletions that count, and the brake is pulled",
    ],
    [
      "removes a counted deletion to get another one within the brake's limit",
      configMap(announced({ "uid-1": COUNTED })),
      facts({}, announced({ "uid-8": age(300), "uid-9": age(300) })),
      "forgets the deletion of node uid-8, which counts",
    ],
    [
      "marks another actor's deletion as not counted",
      configMap(announced({ "uid-9": { ...age(300), counted: false } })),
      facts({}, announced({ "uid-9": age(300) })),
      "announces the deletion of node uid-9, which was not sent",
    ],
  ])("%s", (_, written, known, fault) => {
    expect(checkAnnouncement(written, known)).toContain(fault);
  });
});

describe("checkDeferredDeletion", () => {
  const known = facts({}, announced({ "uid-1": COUNTED, constructor: COUNTED }));
  test("accepts the deletion of a node that was announced with the same time and process", () => {
    expect(checkDeferredDeletion("uid-1", "1", MOMENT, known)).toBeUndefined();
    const fewer = { ...known, count: { kind: "count", count: 3 } } as const;
    expect(checkDeferredDeletion("uid-1", "1", MOMENT, fewer)).toBeUndefined();
  });

  test.each<[string, Parameters<typeof checkDeferredDeletion>, string]>([
    ["that is not announced", ["uid-2", "1", MOMENT, known], "which nothing has announced in data.state"],
    [
      "that is only a member of Object.prototype",
      ["toString", "1", MOMENT, known],
      "which nothing has announced",
    ],
    [
      "that was announced with another time",
      ["uid-1", "1", { ...MOMENT, now: getTime(1).toISOString() }, known],
      "nothing has",
    ],
    [
      "that was announced by another process",
      ["uid-1", "1", { ...MOMENT, clock: "def" }, known],
      "which nothing has announced",
    ],
    [
      "in a cluster without a deletion state",
      ["uid-1", "1", MOMENT, facts({ state: { kind: "absent" } })],
      "nothing has announced",
    ],
    [
      "at another resourceVersion than the node's",
      ["uid-1", "2", MOMENT, known],
      "not at the metadata.resourceVersion",
    ],
    ["without a resourceVersion", ["uid-1", undefined, MOMENT, known], "not at the metadata.resourceVersion"],
    [
      "that is Ready now",
      ["uid-1", "1", MOMENT, { ...known, nodes: [buildLifecycleNode(1, { ready: "True" })] }],
      "whose status.conditions say that it is Ready",
    ],
    [
      "that was announced too long ago",
      ["uid-1", "1", MOMENT, { ...known, now: getTime(121) }],
      "which is not now",
    ],
    ["that was not sent", ["constructor", undefined, MOMENT, known], "which was not sent"],
  ])("rejects the deletion of a node %s", (_, deletion, fault) => {
    expect(checkDeferredDeletion(...deletion)).toContain(fault);
  });
});

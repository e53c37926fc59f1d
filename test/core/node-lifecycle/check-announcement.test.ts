import { describe, expect, test } from "vitest";
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
import { DeletionSettings } from "#core/settings.ts";
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

describe("accepts a state", () => {
  test.each<[string, Partial<DeletionState>, AnnouncementFacts]>([
    ["that announces a deletion", announced({ "uid-1": COUNTED }), facts()],
    ["that announces as many as the brake lets", announced({ "uid-1": COUNTED, "uid-2": COUNTED }), facts()],
    ["that announces all whose instances have ended", announced(all(UNCOUNTED)), facts()],
    ["that announces nothing", {}, facts()],
    ["that pulls the brake", announced({ "uid-1": COUNTED, "uid-2": COUNTED }, PULLED), facts()],
    ["beside a brake that stays", announced({ "uid-1": UNCOUNTED }, PULLED), facts({}, { brake: PULLED })],
    [
      "that announces once more what was announced before",
      announced({ "uid-1": COUNTED }),
      facts({}, announced({ "uid-1": age(90) })),
    ],
    ["that forgets what counts no more", {}, facts({}, announced({ "uid-9": age(86_530) }))],
    ["that forgets it by a clock that is a minute ahead", {}, facts({}, announced({ "uid-9": age(86_470) }))],
    [
      "that announces the deletion of a node without an observed instance, if configured",
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

describe("rejects a state", () => {
  const one = announced({ "uid-1": COUNTED });
  test.each<[string, unknown, AnnouncementFacts, string]>([
    ["that was unreadable", { metadata: {}, data: {} }, facts(), "could not be read any more"],
    [
      "in the place of one that cannot be read",
      configMap(),
      facts({ state: { kind: "object", object: { ...configMap(), data: buildConfigMapData("rubbish") } } }),
      "cannot be read as it is",
    ],
    ["in the place of none", configMap(), facts({ state: undefined }), "cannot be read as it is"],
    ["that lets the brake go", configMap(), facts({}, { brake: PULLED }), "changes the brake"],
    [
      "that announces the deletion of a node that was not sent",
      configMap(announced({ "uid-9": COUNTED })),
      facts(),
      "announces the deletion of node uid-9, which was not sent",
    ],
    [
      "that announces the deletion of a node that is Ready",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { ready: "True" })] }),
      "announces the deletion of node node-1, whose status.conditions say that it is Ready",
    ],
    [
      "that announces the deletion of a node that was never seen with an instance",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { annotations: {} })] }),
      "which was never seen with the instance",
    ],
    [
      "that announces the deletion of a node that names another instance by now",
      configMap(one),
      facts({ nodes: [buildLifecycleNode(1, { providerID: "aws:///eu-central-1a/i-9" })] }),
      "which was never seen with the instance",
    ],
    [
      "that announces a deletion where nodes are not deleted",
      configMap(one),
      facts({ settings: DeletionSettings.parse({ enabled: false }) }),
      "says that nodes are not deleted",
    ],
    ["that announces for later", configMap(announced({ "uid-1": age(-121) })), facts(), "which is not now"],
    ["that announces for long ago", configMap(announced({ "uid-1": age(121) })), facts(), "which is not now"],
    [
      "that announces at several moments, so that the brake sees one of them",
      configMap(announced({ "uid-1": COUNTED, "uid-2": age(1) })),
      facts(),
      "deletions of several moments",
    ],
    [
      "that says that there are more nodes",
      configMap(announced({ "uid-1": { ...COUNTED, nodes: 1_000 } })),
      facts(),
      "of another size than its 10 nodes",
    ],
    [
      "where how many nodes there are is not known",
      configMap(one),
      facts({ count: { kind: "unknown", message: "" } }),
      "how many nodes there are is not known",
    ],
    [
      "that announces more than the brake lets",
      configMap(announced({ "uid-1": COUNTED, "uid-2": COUNTED, "uid-3": COUNTED })),
      facts(),
      "announces 3 deletions that count, which is beyond the brake's limit TenMinutes",
    ],
    [
      "that announces all nodes that there are",
      configMap(announced({ "uid-1": { ...COUNTED, nodes: 1 } })),
      facts({ count: { kind: "count", count: 1 } }),
      "beyond the brake's limit AllNodes",
    ],
    [
      "that announces what counts under a brake",
      configMap(announced({ "uid-1": COUNTED }, PULLED)),
      facts({}, { brake: PULLED }),
      "announces 1 deletions that count, and the brake is pulled",
    ],
    [
      "that forgets a deletion, so that another one is within the brake",
      configMap(announced({ "uid-1": COUNTED })),
      facts({}, announced({ "uid-8": age(300), "uid-9": age(300) })),
      "forgets the deletion of node uid-8, which counts",
    ],
    [
      "that says of a deletion of others that it does not count",
      configMap(announced({ "uid-9": { ...age(300), counted: false } })),
      facts({}, announced({ "uid-9": age(300) })),
      "announces the deletion of node uid-9, which was not sent",
    ],
  ])("%s", (_, written, known, fault) => {
    expect(checkAnnouncement(written, known)).toContain(fault);
  });
});

describe("deletes a node", () => {
  const known = facts({}, announced({ "uid-1": COUNTED, constructor: COUNTED }));
  test("whose deletion was announced at that moment", () => {
    expect(checkDeferredDeletion("uid-1", "1", MOMENT, known)).toBeUndefined();
    const fewer = { ...known, count: { kind: "count", count: 3 } } as const;
    expect(checkDeferredDeletion("uid-1", "1", MOMENT, fewer)).toBeUndefined();
  });

  test.each<[string, Parameters<typeof checkDeferredDeletion>, string]>([
    ["that nothing announces", ["uid-2", "1", MOMENT, known], "which nothing has announced in data.state"],
    [
      "that an object's own members announce",
      ["toString", "1", MOMENT, known],
      "which nothing has announced",
    ],
    [
      "that another moment announced",
      ["uid-1", "1", { ...MOMENT, now: getTime(1).toISOString() }, known],
      "nothing has",
    ],
    [
      "that another process announced",
      ["uid-1", "1", { ...MOMENT, clock: "def" }, known],
      "which nothing has announced",
    ],
    [
      "of a cluster without a state",
      ["uid-1", "1", MOMENT, facts({ state: { kind: "absent" } })],
      "nothing has announced",
    ],
    ["at another version of it", ["uid-1", "2", MOMENT, known], "not at the metadata.resourceVersion"],
    ["at any version of it", ["uid-1", undefined, MOMENT, known], "not at the metadata.resourceVersion"],
    [
      "that is Ready by now",
      ["uid-1", "1", MOMENT, { ...known, nodes: [buildLifecycleNode(1, { ready: "True" })] }],
      "whose status.conditions say that it is Ready",
    ],
    [
      "that was announced long ago",
      ["uid-1", "1", MOMENT, { ...known, now: getTime(121) }],
      "which is not now",
    ],
    ["that was not sent", ["constructor", undefined, MOMENT, known], "which was not sent"],
  ])("but never one %s", (_, deletion, fault) => {
    expect(checkDeferredDeletion(...deletion)).toContain(fault);
  });
});

import { describe, expect, test } from "vitest";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { EventReason } from "#core/event.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { createTaggingController } from "#core/tagging/controller.ts";
import type { Tags } from "#core/tagging/model.ts";
import { leftBehind, type TaggingParts } from "#core/tagging/plan.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import {
  controller,
  createWorld,
  isLabelled,
  join,
  MARK,
  model,
  NOW,
  namespace,
  type Pass,
  pass,
  settingsOf,
} from "#test/core/tagging/world.ts";

const CONTEXT = { reason: "watch", now: NOW, settings: settingsOf({ tags: { team: "a" } }) } as const;
const UNANSWERED = { object: namespace, answer: undefined, hint: undefined };

/** A cluster whose nodes are tagged and labelled. */
function tagged(nodes: number, tags: Tags = { team: "a" }) {
  const world = createWorld(tags);
  for (let number = 1; number <= nodes; number += 1) join(world, number);
  pass(world);
  world.done.length = 0;
  world.asked.length = 0;
  return world;
}

describe("nodes that joined", () => {
  test("are tagged in one action, and labelled after it", () => {
    const world = createWorld({ team: "a", cost: "b" });
    for (const number of [2, 1, 3]) join(world, number);
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1 r-2 r-3", "label node-2", "label node-1", "label node-3"]);
    expect(world.resources.get("r-1")).toEqual({ Name: "of 1", team: "a", cost: "b", [MARK]: "team cost" });
    expect(isLabelled(world, "node-1")).toBe(true);
  });

  test("are tagged a hundred at a time, and all of them in one invocation", () => {
    const world = createWorld();
    for (let number = 1; number <= 250; number += 1) join(world, number);
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    const actions = world.done.filter((done) => done.startsWith("tag "));
    expect(actions.map((action) => action.split(" ").length - 1)).toEqual([100, 100, 50]);
  });

  test("without labels of their own get a map of them", () => {
    const world = createWorld();
    const node = join(world, 1);
    world.nodes.set("node-1", { ...node, metadata: { ...node.metadata, labels: undefined } });
    pass(world);
    expect(isLabelled(world, "node-1")).toBe(true);
  });

  test("that have no resource with tags, or are about to go, are left alone", () => {
    const world = createWorld();
    const fargate = join(world, 1);
    world.nodes.set("node-1", { ...fargate, spec: { providerID: "cloud://fargate-1" } });
    const unnamed = join(world, 2);
    world.nodes.set("node-2", { ...unnamed, spec: {} });
    const leaving = join(world, 3);
    const metadata = { ...leaving.metadata, deletionTimestamp: NOW.toISOString() };
    world.nodes.set("node-3", { ...leaving, metadata });
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    expect(pass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
  });

  test("and claim one resource are all labelled, and it is tagged once", () => {
    const world = createWorld();
    const node = join(world, 1);
    world.nodes.set("other", { ...node, metadata: { ...node.metadata, name: "other", uid: "uid-other" } });
    pass(world);
    expect(world.done).toEqual(["tag r-1", "label node-1", "label other"]);
  });

  test.each([
    { ageMs: 60_000, kind: "retry" },
    { ageMs: 600_000, kind: "unchanged" },
  ])("and whose resource is not shown: after $ageMs ms it is $kind", ({ ageMs, kind }) => {
    const world = createWorld();
    join(world, 1, ageMs);
    world.resources.delete("r-1");
    expect(pass(world)).toMatchObject({ kind });
    expect(world.done).toEqual([]);
  });
});

describe("where all labels say so,", () => {
  test("nothing is written, and a change costs one question about what is left behind", () => {
    const world = tagged(3);
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
    expect(world.asked).toEqual([{ ids: [], mark: MARK }]);
  });

  test("as the stock controller wrote them, nothing is written either; an audit makes the tags known as ours", () => {
    const world = tagged(1);
    world.resources.set("r-1", { Name: "of 1", team: "a" });
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
    expect(pass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1"]);
    expect(pass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1"]);
  });

  test("an audit puts back what somebody took away", () => {
    const world = tagged(2);
    world.resources.set("r-2", { Name: "of 2", [MARK]: "team" });
    pass(world, { reason: "sweep" });
    expect(world.done).toEqual(["tag r-2"]);
  });
});

test("a tag that is wanted no more goes before the mark forgets it; tags that are not ours stay", () => {
  const world = tagged(2, { team: "a", old: "x" });
  world.tags = { team: "b" };
  expect(pass(world)).toMatchObject({ kind: "unchanged" });
  expect(world.done).toEqual(["untag r-1 r-2", "tag r-1 r-2", "label node-1", "label node-2"]);
  expect(world.resources.get("r-1")).toEqual({ Name: "of 1", team: "b", [MARK]: "team" });
});

describe("a node that is gone", () => {
  test("leaves no tag of ours on its resource", () => {
    const world = tagged(3);
    world.nodes.delete("node-1");
    world.nodes.delete("node-3");
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1 r-3"]);
    expect(world.resources.get("r-1")).toEqual({ Name: "of 1" });
  });

  test("holds up nobody who waits for tags where the nodes are not all known", () => {
    const world = tagged(3);
    world.unlisted.add("node-1");
    join(world, 4);
    expect(pass(world)).toMatchObject({ kind: "retry", because: { code: "NodesIncomplete" } });
    expect(world.done).toEqual(["tag r-4", "label node-4"]);
  });

  test("is found by the number of nodes if the relay writes and only counts them", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    const options: Pass = { listed: "not listed", count: { kind: "count", count: 1 } };
    expect(pass(world, options)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1"]);
  });

  test("is not told from one that an older list of as many nodes leaves out", () => {
    const world = tagged(3);
    const metadata = { name: "starting", uid: "1", creationTimestamp: NOW.toISOString() };
    const foreign = { metadata, spec: { providerID: "other://r-1" } };
    const items = [...world.nodes.values(), { metadata }, foreign].map((node) => relatedNodes.project(node));
    world.unlisted.add("node-1");
    join(world, 4);
    expect(pass(world, { listed: { kind: "list", items } })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
    expect(world.done).toEqual(["tag r-4", "label node-4"]);
  });

  test.each<EventReason>(["watch", "refresh", "sweep"])("is found by a %s alike", (reason) => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    expect(pass(world, { reason })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1"]);
  });

  test.each<{ what: string; options: Pass }>([
    { what: "the API server lists it", options: {} },
    { what: "the nodes cannot be listed", options: { listed: { kind: "unknown", message: "no" } } },
    { what: "nodes are neither listed nor counted", options: { listed: "not listed" } },
    {
      what: "there are more nodes than are known",
      options: { listed: "not listed", count: { kind: "count", count: 3 } },
    },
    {
      what: "the nodes cannot be counted",
      options: { listed: "not listed", count: { kind: "unknown", message: "no" } },
    },
    {
      what: "the API server lists none and counts some",
      options: { listed: { kind: "list", items: [] }, count: { kind: "count", count: 3 } },
    },
  ])("is not told from one that is left out, where $what", ({ options }) => {
    const world = tagged(3);
    world.unlisted.add("node-1");
    expect(pass(world, { reason: "refresh", ...options })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
    expect(world.done).toEqual([]);
  });

  test("is looked for while others are tagged, and the nodes are listed if there is one", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    join(world, 4);
    pass(world);
    expect(world.done).toEqual(["untag r-1", "tag r-4", "label node-4"]);
    expect(world.asked).toEqual([{ ids: ["r-4"], mark: MARK }]);
    const related = { nodes: { resourceVersion: "1", items: [] } };
    expect(controller.stateOf?.([UNANSWERED], { ...CONTEXT, related })).toBeUndefined();
    expect(controller.stateOf?.([UNANSWERED], { ...CONTEXT, related: {} })).toBeUndefined();
    // A malformed node names no resource.
    const broken = { nodes: { resourceVersion: "1", items: [{}] } };
    expect(controller.asks(namespace, { ...CONTEXT, related: broken })).toMatchObject({ ask: { ids: [] } });
  });
});

describe("the tags of what is left behind", () => {
  const left = (tags: Tags) => {
    const wanted = model.marked({ team: "a", role: "node" }, DEFAULT_SETTINGS);
    const standing = { model, wanted, held: new Map() };
    const world = { resources: new Map([["r-1", tags]]), failed: new Map() };
    return leftBehind({ standing, world, settings: DEFAULT_SETTINGS } as unknown as TaggingParts).get("r-1");
  };

  test.each<{ what: string; tags: Tags; gone: Tags | undefined }>([
    {
      what: "are those that are there and those that its mark names, which another actor may be about to set",
      tags: { [MARK]: "team role", team: "a" },
      gone: { [MARK]: "team role", team: "a", role: "node" },
    },
    {
      what: "are none that the mark does not name",
      tags: { [MARK]: "team" },
      gone: { [MARK]: "team", team: "a" },
    },
    { what: "are none without a mark", tags: { team: "a" }, gone: undefined },
  ])("$what", ({ tags, gone }) => {
    expect(left(tags)).toEqual(gone);
  });
});

describe("what fails", () => {
  test("is one resource, and the others are done; it is said, and tried again late", () => {
    const world = createWorld();
    for (const number of [1, 2]) join(world, number);
    world.refused.add("r-1");
    expect(pass(world)).toMatchObject({
      kind: "retry",
      because: { code: "Refused", message: "r-1: no such resource" },
      afterSeconds: 300,
    });
    expect(isLabelled(world, "node-1")).toBe(false);
    expect(isLabelled(world, "node-2")).toBe(true);
  });

  test("is an action as a whole: nobody is labelled, and it is tried again soon", () => {
    const world = createWorld();
    for (const number of [1, 2]) join(world, number);
    world.failing = { code: "Throttled", message: "slower" };
    expect(pass(world)).toMatchObject({
      kind: "retry",
      because: { code: "Throttled", message: "r-1 (and 1 more): slower" },
      afterSeconds: 5,
    });
    world.failing = undefined;
    expect(pass(world)).toMatchObject({ kind: "unchanged" });
  });

  test.each([
    { code: "Conflict", kind: "retry" },
    { code: "Gone", kind: "unchanged" },
  ])("is a label, with $code: then it is $kind", ({ code, kind }) => {
    const world = createWorld();
    join(world, 1);
    world.failingNodes.set("node-1", { code, message: "no" });
    expect(pass(world)).toMatchObject({ kind });
  });

  test("is taking tags from what is left behind", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    world.failing = { code: "Denied", message: "no" };
    expect(pass(world)).toMatchObject({ kind: "retry", because: { code: "Denied" }, afterSeconds: 300 });
  });

  test("is the look itself: nothing is decided", () => {
    const world = createWorld();
    join(world, 1);
    const answer = { kind: "error", code: "Throttled", message: "slower" } as const;
    expect(pass(world, { answer })).toMatchObject({ kind: "retry", because: { code: "Throttled" } });
    expect(world.done).toEqual([]);
  });
});

describe("nothing is done, and nobody is asked, where", () => {
  test.each([
    { what: "there are no tags", settings: settingsOf({ tags: {} }), code: "NoTags" },
    {
      what: "nothing is to be tagged",
      settings: settingsOf({ tags: { team: "a" } }, { resources: [] }),
      code: "NoTags",
    },
    { what: "the cloud has none", settings: DEFAULT_SETTINGS, code: "NotSupported" },
  ])("$what", ({ settings, code }) => {
    const world = tagged(1);
    expect(pass(world, { settings })).toMatchObject({ kind: "skip", because: { code } });
    expect([world.asked, world.done]).toEqual([[], []]);
  });

  test("no nodes came with the event", () => {
    const context = { ...CONTEXT, related: {} };
    expect(controller.asks(namespace, context)).toBeUndefined();
    expect(controller.decide([UNANSWERED], context)).toMatchObject({
      decisions: [{ kind: "skip", because: { code: "NoNodes" } }],
    });
  });
});

test("without an answer it is due again, and nothing is made of what was done", () => {
  const context = { ...CONTEXT, related: { nodes: { resourceVersion: "1", items: [] } } };
  expect(controller.decide([UNANSWERED], context)).toMatchObject({
    decisions: [{ kind: "retry", because: { code: "NoAnswer" } }],
  });
  const write = { on: "cloud", capability: "tags", action: "tag", target: "r-1" } as const;
  const action = { ...write, parameters: {}, precondition: { uid: "1", deleting: false } };
  expect(controller.fold?.(UNANSWERED, { write: action, result: {} })).toBe(UNANSWERED);
});

test("a model is loaded once, and for the clouds that have one", async () => {
  let loads = 0;
  const { load } = createTaggingController({
    cloud: async () => {
      loads += 1;
      return model;
    },
  });
  for (const provider of ["cloud", "cloud", "other", "toString"]) await load?.(provider);
  expect(loads).toBe(1);
});

describe("what is watched", () => {
  const whole = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { ...namespace.metadata, labels: { a: "b" } },
    spec: {},
  };

  test("is one namespace, which needs no work", () => {
    const parsed = taggingWatch.parse(whole);
    if (parsed.kind !== "object") throw new Error("it was not parsed");
    const context = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
    expect(taggingWatch.snapshot(parsed.object, context)).toEqual(namespace);
    expect(taggingWatch.needsWork(parsed.object, context)).toBe(false);
    expect(taggingWatch.looks?.fingerprint(parsed.object)).toBe("");
    expect(taggingWatch.parse({ metadata: {} }).kind).toBe("malformed");
    expect(relatedNodes.reads(parsed.object)).toBe("all");
  });

  const seen = (providerID: string | undefined, label?: string) => ({
    metadata: {
      ...{ name: "a", uid: "1", creationTimestamp: NOW.toISOString() },
      labels: label === undefined ? {} : { [TAGS_LABEL]: label },
    },
    spec: providerID === undefined ? {} : { providerID },
  });
  test.each([
    ["a node that joins", undefined, seen("r-1"), true],
    ["one that joins without a provider ID", undefined, seen(undefined), false],
    ["one that joins with our label", undefined, seen("r-1", "sum"), false],
    ["a provider ID that comes", seen(undefined), seen("r-1"), true],
    ["a provider ID that is another", seen("r-1", "sum"), seen("r-2", "sum"), true],
    ["our label", seen("r-1"), seen("r-1", "sum"), false],
    ["our label taken away", seen("r-1", "sum"), seen("r-1"), true],
    ["a node that is gone", seen("r-1", "sum"), undefined, true],
    ["one that is gone without a provider ID", seen(undefined), undefined, false],
  ])("of changes of nodes, those that leave or want tags: %s", (_, before, after, concerns) => {
    expect(relatedNodes.concerns?.(before, after)).toBe(concerns);
  });

  test("of nodes, what names the resource, and the one label", () => {
    const metadata = { name: "a", uid: "1", creationTimestamp: NOW.toISOString() };
    const labels = { [TAGS_LABEL]: "sum", other: "x" };
    const status = { addresses: [] };
    const spec = { providerID: "cloud://r-1", podCIDR: "10.0.0.0/24" };
    expect(relatedNodes.project({ metadata: { ...metadata, labels }, spec, status })).toEqual({
      metadata: { ...metadata, labels: { [TAGS_LABEL]: "sum" } },
      spec: { providerID: "cloud://r-1" },
    });
    expect(relatedNodes.project({ metadata: { ...metadata, labels: { other: "x" } } })).toEqual({
      metadata: { ...metadata, labels: {} },
      spec: {},
    });
    expect(relatedNodes.project({ metadata })).toEqual({ metadata, spec: {} });
    expect(relatedNodes.project({ metadata: {} })).toBeUndefined();
  });
});

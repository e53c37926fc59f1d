import { describe, expect, test } from "vitest";
import { TAGS_LABEL } from "#core/contracts.ts";
import type { EventReason } from "#core/event.ts";
import type { Tags } from "#core/node-tags.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { createTaggingController } from "#core/tagging/controller.ts";
import { listAbandonedResources, type TaggingParts } from "#core/tagging/plan.ts";
import { relatedNodes } from "#core/tagging/tagged-node.ts";
import { taggingWatch } from "#core/tagging/watch.ts";
import {
  buildSettings,
  controller,
  createWorld,
  isLabelled,
  join,
  MARK,
  model,
  NOW,
  namespace,
  type Pass,
  runPass,
} from "#test/core/tagging/known-tags.ts";

const CONTEXT = { reason: "watch", now: NOW, settings: buildSettings({ tags: { team: "a" } }) } as const;
const UNANSWERED = { object: namespace, answer: undefined, hint: undefined };

/** A cluster with tagged and labelled nodes. */
function tagged(nodes: number, tags: Tags = { team: "a" }) {
  const world = createWorld(tags);
  for (let number = 1; number <= nodes; number += 1) join(world, number);
  runPass(world);
  world.done.length = 0;
  world.asked.length = 0;
  return world;
}

describe("new nodes", () => {
  test("are tagged in one action, and then labelled", () => {
    const world = createWorld({ team: "a", cost: "b" });
    for (const number of [2, 1, 3]) join(world, number);
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1 r-2 r-3", "label node-2", "label node-1", "label node-3"]);
    expect(world.resources.get("r-1")).toEqual({ Name: "of 1", team: "a", cost: "b", [MARK]: "team cost" });
    expect(isLabelled(world, "node-1")).toBe(true);
  });

  test("are tagged a hundred at a time, all in one invocation", () => {
    const world = createWorld();
    for (let number = 1; number <= 250; number += 1) join(world, number);
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    const actions = world.done.filter((done) => done.startsWith("tag "));
    expect(actions.map((action) => action.split(" ").length - 1)).toEqual([100, 100, 50]);
  });

  test("without labels get a map of labels", () => {
    const world = createWorld();
    const node = join(world, 1);
    world.nodes.set("node-1", { ...node, metadata: { ...node.metadata, labels: undefined } });
    runPass(world);
    expect(isLabelled(world, "node-1")).toBe(true);
  });

  test("without a taggable resource, or being deleted, stay unchanged", () => {
    const world = createWorld();
    const fargate = join(world, 1);
    world.nodes.set("node-1", { ...fargate, spec: { providerID: "cloud://fargate-1" } });
    const unnamed = join(world, 2);
    world.nodes.set("node-2", { ...unnamed, spec: {} });
    const leaving = join(world, 3);
    const metadata = { ...leaving.metadata, deletionTimestamp: NOW.toISOString() };
    world.nodes.set("node-3", { ...leaving, metadata });
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    expect(runPass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
  });

  test("that name one resource are all labelled, and it is tagged once", () => {
    const world = createWorld();
    const node = join(world, 1);
    world.nodes.set("other", { ...node, metadata: { ...node.metadata, name: "other", uid: "uid-other" } });
    runPass(world);
    expect(world.done).toEqual(["tag r-1", "label node-1", "label other"]);
  });

  test.each([
    { ageMs: 60_000, kind: "retry" },
    { ageMs: 600_000, kind: "unchanged" },
  ])("whose resource is not visible after $ageMs ms: $kind", ({ ageMs, kind }) => {
    const world = createWorld();
    join(world, 1, ageMs);
    world.resources.delete("r-1");
    expect(runPass(world)).toMatchObject({ kind });
    expect(world.done).toEqual([]);
  });
});

describe("if all nodes' labels record the tags,", () => {
  test("nothing is written, and a change costs one question about resources without a node", () => {
    const world = tagged(3);
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
    expect(world.asked).toEqual([{ ids: [], mark: MARK }]);
  });

  test("nothing is written for the stock controller's tags; an audit marks them as ours", () => {
    const world = tagged(1);
    world.resources.set("r-1", { Name: "of 1", team: "a" });
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual([]);
    expect(runPass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1"]);
    expect(runPass(world, { reason: "refresh" })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["tag r-1"]);
  });

  test("an audit restores what others removed", () => {
    const world = tagged(2);
    world.resources.set("r-2", { Name: "of 2", [MARK]: "team" });
    runPass(world, { reason: "sweep" });
    expect(world.done).toEqual(["tag r-2"]);
  });
});

test("an unwanted tag is removed before the mark forgets it; foreign tags stay", () => {
  const world = tagged(2, { team: "a", old: "x" });
  world.tags = { team: "b" };
  expect(runPass(world)).toMatchObject({ kind: "unchanged" });
  expect(world.done).toEqual(["untag r-1 r-2", "tag r-1 r-2", "label node-1", "label node-2"]);
  expect(world.resources.get("r-1")).toEqual({ Name: "of 1", team: "b", [MARK]: "team" });
});

describe("a node that is gone", () => {
  test("leaves no tag of ours on its resource", () => {
    const world = tagged(3);
    world.nodes.delete("node-1");
    world.nodes.delete("node-3");
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1 r-3"]);
    expect(world.resources.get("r-1")).toEqual({ Name: "of 1" });
  });

  test("does not delay tags of others if not all nodes are known", () => {
    const world = tagged(3);
    world.unlisted.add("node-1");
    join(world, 4);
    expect(runPass(world)).toMatchObject({ kind: "retry", because: { code: "NodesIncomplete" } });
    expect(world.done).toEqual(["tag r-4", "label node-4"]);
  });

  test("is found by the number of nodes if the relay writes and only counts them", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    const options: Pass = { listed: "not listed", count: { kind: "count", count: 1 } };
    expect(runPass(world, options)).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1"]);
  });

  test("is not proven by an older list with an equal number of nodes", () => {
    const world = tagged(3);
    const metadata = { name: "starting", uid: "1", creationTimestamp: NOW.toISOString() };
    const foreign = { metadata, spec: { providerID: "other://r-1" } };
    const items = [...world.nodes.values(), { metadata }, foreign].map((node) => relatedNodes.project(node));
    world.unlisted.add("node-1");
    join(world, 4);
    expect(runPass(world, { listed: { kind: "list", items } })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
    expect(world.done).toEqual(["tag r-4", "label node-4"]);
  });

  test("is not proven by the event's nodes if the API server lists as many, but other ones", () => {
    const world = tagged(4);
    world.unlisted.add("node-1");
    const listed = [...world.nodes.values()].filter(({ metadata: { name } }) => name !== "node-4");
    const items = listed.map((node) => relatedNodes.project(node));
    const options: Pass = { listed: { kind: "list", items }, count: { kind: "count", count: 3 } };
    expect(runPass(world, options)).toMatchObject({ kind: "retry", because: { code: "NodesIncomplete" } });
    expect(world.done).toEqual([]);
  });

  test.each<EventReason>(["watch", "refresh", "sweep"])("is also found by a %s", (reason) => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    expect(runPass(world, { reason })).toMatchObject({ kind: "unchanged" });
    expect(world.done).toEqual(["untag r-1"]);
  });

  test.each<{ what: string; options: Pass }>([
    { what: "the API server lists the node", options: {} },
    { what: "the nodes cannot be listed", options: { listed: { kind: "unknown", message: "no" } } },
    { what: "nodes are neither listed nor counted", options: { listed: "not listed" } },
    {
      what: "the API server counts more nodes than are known",
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
  ])("is not proven by its absence in a list if $what", ({ options }) => {
    const world = tagged(3);
    world.unlisted.add("node-1");
    expect(runPass(world, { reason: "refresh", ...options })).toMatchObject({
      kind: "retry",
      because: { code: "NodesIncomplete" },
    });
    expect(world.done).toEqual([]);
  });

  test("is searched while others are tagged, and nodes are listed if one is found", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    join(world, 4);
    runPass(world);
    expect(world.done).toEqual(["untag r-1", "tag r-4", "label node-4"]);
    expect(world.asked).toEqual([{ ids: ["r-4"], mark: MARK }]);
    const related = { nodes: { resourceVersion: "1", items: [] } };
    expect(controller.getStateReference?.([UNANSWERED], { ...CONTEXT, related })).toBeUndefined();
    expect(controller.getStateReference?.([UNANSWERED], { ...CONTEXT, related: {} })).toBeUndefined();
    // A malformed node names no resource.
    const broken = { nodes: { resourceVersion: "1", items: [{}] } };
    expect(controller.buildQuestion(namespace, { ...CONTEXT, related: broken })).toMatchObject({
      ask: { ids: [] },
    });
  });
});

describe("the tags of resources without a node", () => {
  const left = (tags: Tags) => {
    const desired = model.marked({ team: "a", role: "node" }, DEFAULT_SETTINGS);
    const phase = { model, desired, resourcesWithNode: new Map() };
    const known = { resources: new Map([["r-1", tags]]), failed: new Map() };
    return listAbandonedResources({
      phase,
      known,
      settings: DEFAULT_SETTINGS,
    } as unknown as TaggingParts).get("r-1");
  };

  test.each<{ what: string; tags: Tags; gone: Tags | undefined }>([
    {
      what: "are the existing ones and those that the mark names, which another actor may be about to set",
      tags: { [MARK]: "team role", team: "a" },
      gone: { [MARK]: "team role", team: "a", role: "node" },
    },
    {
      what: "include only those that the mark names",
      tags: { [MARK]: "team" },
      gone: { [MARK]: "team", team: "a" },
    },
    { what: "are not ours without a mark", tags: { team: "a" }, gone: undefined },
  ])("$what", ({ tags, gone }) => {
    expect(left(tags)).toEqual(gone);
  });
});

describe("a failure", () => {
  test("of one resource is reported and retried late, and the others are done", () => {
    const world = createWorld();
    for (const number of [1, 2]) join(world, number);
    world.refused.add("r-1");
    expect(runPass(world)).toMatchObject({
      kind: "retry",
      because: { code: "Refused", message: "r-1: no such resource" },
      afterSeconds: 300,
    });
    expect(isLabelled(world, "node-1")).toBe(false);
    expect(isLabelled(world, "node-2")).toBe(true);
  });

  test("of a whole action is retried soon, and no node is labelled", () => {
    const world = createWorld();
    for (const number of [1, 2]) join(world, number);
    world.failing = { code: "Throttled", message: "slower" };
    expect(runPass(world)).toMatchObject({
      kind: "retry",
      because: { code: "Throttled", message: "r-1 (and 1 more): slower" },
      afterSeconds: 5,
    });
    world.failing = undefined;
    expect(runPass(world)).toMatchObject({ kind: "unchanged" });
  });

  test.each([
    { code: "Conflict", kind: "retry" },
    { code: "Gone", kind: "unchanged" },
  ])("of a label with $code: $kind", ({ code, kind }) => {
    const world = createWorld();
    join(world, 1);
    world.failingNodes.set("node-1", { code, message: "no" });
    expect(runPass(world)).toMatchObject({ kind });
  });

  test("to remove tags from resources without a node is retried late", () => {
    const world = tagged(2);
    world.nodes.delete("node-1");
    world.failing = { code: "Denied", message: "no" };
    expect(runPass(world)).toMatchObject({ kind: "retry", because: { code: "Denied" }, afterSeconds: 300 });
  });

  test("of the observation is retried, and nothing is written", () => {
    const world = createWorld();
    join(world, 1);
    const answer = { kind: "error", code: "Throttled", message: "slower" } as const;
    expect(runPass(world, { answer })).toMatchObject({ kind: "retry", because: { code: "Throttled" } });
    expect(world.done).toEqual([]);
  });
});

describe("nothing is done, and the cloud is not asked, if", () => {
  test.each([
    { what: "no tags are configured", settings: buildSettings({ tags: {} }), code: "NoTags" },
    {
      what: "no resource types are configured",
      settings: buildSettings({ tags: { team: "a" } }, { resources: [] }),
      code: "NoTags",
    },
    { what: "the cloud does not support tags", settings: DEFAULT_SETTINGS, code: "NotSupported" },
  ])("$what", ({ settings, code }) => {
    const world = tagged(1);
    expect(runPass(world, { settings })).toMatchObject({ kind: "skip", because: { code } });
    expect([world.asked, world.done]).toEqual([[], []]);
  });

  test("no nodes came with the event", () => {
    const context = { ...CONTEXT, related: {} };
    expect(controller.buildQuestion(namespace, context)).toBeUndefined();
    expect(controller.decide([UNANSWERED], context)).toMatchObject({
      decisions: [{ kind: "skip", because: { code: "NoNodes" } }],
    });
  });
});

test("without an answer the pass is retried, and earlier writes are ignored", () => {
  const context = { ...CONTEXT, related: { nodes: { resourceVersion: "1", items: [] } } };
  expect(controller.decide([UNANSWERED], context)).toMatchObject({
    decisions: [{ kind: "retry", because: { code: "NoAnswer" } }],
  });
  const write = { on: "cloud", capability: "tags", action: "tag", target: "r-1" } as const;
  const action = { ...write, parameters: {}, precondition: { uid: "1", deleting: false } };
  expect(controller.applyResult?.(UNANSWERED, { write: action, result: {} })).toBe(UNANSWERED);
});

test("a model is loaded once, and only for clouds that have one", async () => {
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

describe("the watch", () => {
  const whole = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { ...namespace.metadata, labels: { a: "b" } },
    spec: {},
  };

  test("watches one namespace, which needs no work", () => {
    const parsed = taggingWatch.parse(whole);
    if (parsed.kind !== "object") throw new Error("it was not parsed");
    const context = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
    expect(taggingWatch.snapshot(parsed.object, context)).toEqual(namespace);
    expect(taggingWatch.needsWork(parsed.object, context)).toBe(false);
    expect(taggingWatch.rechecks?.resync?.fingerprint(parsed.object)).toBe("");
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
  ])("reacts to nodes that leave or need tags: %s", (_, before, after, concerns) => {
    expect(relatedNodes.concerns?.(before, after)).toBe(concerns);
  });

  test("reads from nodes the resource name and one label", () => {
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

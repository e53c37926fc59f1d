import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Controller } from "#core/controller.ts";
import { decideEvent, parseEvent } from "#core/decide-event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { nodeController } from "#core/node/controller.ts";
import { checkProperty } from "#test/core/check-property.ts";
import { answers, nodes } from "#test/core/node/arbitraries.ts";
import { buildFoundAnswer, buildInitializedNode, buildNode, NOW } from "#test/core/node/builders.ts";
import { buildService, createController } from "#test/core/service/builders.ts";
import decisionExample from "../../docs/examples/decision.json" with { type: "json" };
import eventExample from "../../docs/examples/event.json" with { type: "json" };

const EVENT = {
  version: 1,
  id: "e-1",
  cluster: "tenant-a",
  clusterHash: "0123456789abcdef",
  controller: "cloud-node-controller",
  reason: "watch",
  objects: [buildNode()],
};

const OBSERVED = { kind: "observed", state: null };

const findNodeController = (name: string): Controller | undefined =>
  name === nodeController.name ? nodeController : undefined;

test("the example event gives the example decisions", () => {
  expect(decideEvent(eventExample, new Date("2026-03-01T12:00:00Z"), findNodeController)).toEqual({
    kind: "decided",
    decisions: decisionExample,
  });
});

describe("an event", () => {
  test("alone is decided without the cloud's answers", () => {
    const objects = [buildNode(), buildInitializedNode()];
    expect(codes(decideEvent({ ...EVENT, objects }, NOW, findNodeController))).toEqual([
      "NoAnswer",
      "UpToDate",
    ]);
  });

  test("with instances is decided with each object's own instance", () => {
    const event = { ...EVENT, objects: [buildNode(), buildNode()] };
    const instances: InstanceAnswer[] = [{ kind: "not-found", message: "none" }, buildFoundAnswer()];
    expect(codes(decideEvent({ event, instances }, NOW, findNodeController))).toEqual([
      "InstanceNotFound",
      "Initialized",
    ]);
  });

  test("with answers of another capability is decided with each object's own answer, under its settings", async () => {
    const controller = await createController({});
    const related = {
      nodes: { resourceVersion: "1", items: [] },
      services: { resourceVersion: "1", items: [] },
    };
    const event = { ...EVENT, controller: controller.name, objects: [buildService()], related };
    const decided = (settings: object) =>
      decideEvent({ event, answers: [OBSERVED], settings }, NOW, () => controller);
    expect(codes(decided({ cloud: { provider: "shelf" } }))).toEqual(["PutUp"]);
    expect(codes(decided({ cloud: { provider: "shelf" }, loadBalancers: { max: 0 } }))).toEqual([
      "LoadBalancerLimit",
    ]);
    expect(codes(decided({}))).toEqual(["NotSupported"]);
  });

  test("is decided for the cluster that it names", () => {
    const clusters: string[] = [];
    const controller: Controller = {
      ...nodeController,
      decide(batch, context) {
        clusters.push(context.settings.cluster);
        return nodeController.decide(batch as never, context);
      },
    };
    decideEvent(EVENT, NOW, () => controller);
    decideEvent({ event: EVENT, settings: {} }, NOW, () => controller);
    expect(clusters).toEqual(["tenant-a", "tenant-a"]);
  });

  test("with settings only is decided as before the cloud is asked", () => {
    expect(codes(decideEvent({ event: EVENT, settings: {} }, NOW, findNodeController))).toEqual(["NoAnswer"]);
  });

  test("with a dry run changes nothing", () => {
    const event = { ...EVENT, dryRun: true };
    expect(codes(decideEvent({ event, instances: [buildFoundAnswer()] }, NOW, findNodeController))).toEqual([
      "DryRun",
    ]);
  });

  test("with one malformed node fails for that node only", () => {
    const event = { ...EVENT, objects: [{ metadata: { name: "pod-a" } }, buildInitializedNode()] };
    expect(decideEvent(event, NOW, findNodeController)).toMatchObject({
      kind: "decided",
      decisions: [
        {
          kind: "malformed",
          index: 0,
          name: "pod-a",
          faults: [
            { path: "metadata.uid" },
            { path: "metadata.resourceVersion" },
            { path: "metadata.creationTimestamp" },
          ],
        },
        { kind: "unchanged" },
      ],
    });
  });

  test("whose plan begins with one shared write returns that write", () => {
    const write = {
      on: "cluster",
      apiVersion: "v1",
      resource: "configmaps",
      namespace: "kube-system",
      name: "serverless-ccm",
      verb: "create",
      body: {},
      precondition: { absent: true },
    } as const;
    const because = { code: "State", message: "state comes first" };
    const controller: Controller = {
      ...nodeController,
      decide: () => ({ kind: "shared", because, write }),
    };
    expect(decideEvent(EVENT, NOW, () => controller)).toEqual({
      kind: "shared",
      plan: { kind: "shared", because, write },
    });
  });

  test("is decided equally in any order of its objects", () => {
    const cards = fc.array(fc.tuple(nodes, answers, fc.nat()), { minLength: 1, maxLength: 6 });
    checkProperty([cards], (list) => {
      const decided = decisionsOf(list).map((decision, index) => ({
        decision,
        place: list[index]?.[2] ?? 0,
      }));
      const shuffled = list.toSorted(([, , a], [, , b]) => a - b);
      const expected = decided.toSorted((a, b) => a.place - b.place).map(({ decision }) => decision);
      expect(decisionsOf(shuffled)).toEqual(expected);
    });
  });
});

describe("a document is rejected", () => {
  test.each([
    ["that is null", null, [""]],
    ["that is a list", [], [""]],
    ["of another version", { ...EVENT, version: 3 }, ["version"]],
    ["without objects", { ...EVENT, objects: [] }, ["objects"]],
    ["with too many objects", { ...EVENT, objects: Array(101).fill(buildNode()) }, ["objects"]],
    ["with dryRun false", { ...EVENT, dryRun: false }, ["dryRun"]],
    ["for an unknown controller", { ...EVENT, controller: "route-controller" }, ["controller"]],
    ["for an invalid controller name", { ...EVENT, controller: "Route" }, ["controller"]],
    ["with only an event", { event: EVENT }, ["instances"]],
    [
      "with an invalid event",
      { event: { ...EVENT, cluster: "A" }, instances: [buildFoundAnswer()] },
      ["event.cluster"],
    ],
    ["with too few answers", { event: EVENT, instances: [] }, ["instances"]],
    [
      "with too many answers",
      { event: EVENT, instances: [buildFoundAnswer(), buildFoundAnswer()] },
      ["instances"],
    ],
    [
      "with both answers and instances",
      { event: EVENT, instances: [buildFoundAnswer()], answers: [OBSERVED] },
      ["answers"],
    ],
    ["with too many observations", { event: EVENT, answers: [OBSERVED, OBSERVED] }, ["answers"]],
    ["with an invalid observation", { event: EVENT, answers: [buildFoundAnswer()] }, ["answers[0].kind"]],
    [
      "with settings without a cloud provider",
      { event: EVENT, settings: { cloud: {} } },
      ["settings.cloud.provider"],
    ],
    ["with unknown settings", { event: EVENT, settings: { nods: {} } }, ["settings"]],
    ["with an invalid answer", { event: EVENT, instances: [{ kind: "gone" }] }, ["instances[0].kind"]],
  ])("%s", (_, document, paths) => {
    const decided = decideEvent(document, NOW, findNodeController);
    expect(decided.kind === "rejected" && decided.faults.map(({ path }) => path)).toEqual(paths);
  });
});

describe("parsing an event", () => {
  test("accepts a valid event unchanged", () => {
    expect(parseEvent(EVENT)).toEqual({ kind: "event", event: EVENT });
  });

  test("drops fields that a later version may add", () => {
    expect(parseEvent({ ...EVENT, priority: 7, hints: { u: { said: ["a"], more: 1 } } })).toEqual({
      kind: "event",
      event: { ...EVENT, hints: { u: { said: ["a"] } } },
    });
  });

  test("returns all errors at once", () => {
    expect(parseEvent({ ...EVENT, cluster: "A", clusterHash: "x" })).toMatchObject({
      kind: "rejected",
      faults: [{ path: "cluster" }, { path: "clusterHash" }],
    });
  });
});

function decisionsOf(pairs: readonly (readonly [unknown, InstanceAnswer, number])[]) {
  const event = { ...EVENT, objects: pairs.map(([object]) => object) };
  const decided = decideEvent(
    { event, instances: pairs.map(([, answer]) => answer) },
    NOW,
    findNodeController,
  );
  if (decided.kind !== "decided") throw new Error(JSON.stringify(decided));
  return decided.decisions;
}

function codes(decided: ReturnType<typeof decideEvent>): string[] {
  if (decided.kind !== "decided") throw new Error(JSON.stringify(decided));
  return decided.decisions.map((decision) =>
    decision.kind === "malformed" ? "malformed" : decision.because.code,
  );
}

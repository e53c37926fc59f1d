import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import { markOf, readNoNodeSince } from "#core/service/mark.ts";
import type { TargetNode } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  annotationOf,
  context,
  controllerWith,
  converged,
  listing,
  NOW,
  related,
  SETTINGS,
  served,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const SERVED = await served();
const NODE = { name: "a", providerID: "i-a" };
/** Events bring no node, whatever the API server lists. */
const WITHOUT_NODES = { related: related([]) };

/** What became of the shelf's targets and the Service's, in one round. */
async function look(object: Service, asked: DecisionContext) {
  const { object: after, shelf, decisions } = await converged(object, SHELF, asked);
  return { object: after, targets: shelf?.targets, last: decisions.at(-1) };
}

describe("a load balancer whose last target seems to be gone", () => {
  test.each<[string, DecisionContext, string]>([
    ["nobody listed nodes", context(WITHOUT_NODES), "the nodes cannot be listed: nobody has asked"],
    [
      "nodes cannot be listed",
      listing([], 0, { listed: { kind: "unknown", message: "403" } }),
      "the nodes cannot be listed: 403",
    ],
    ["nobody counted nodes", listing([], 0, { count: undefined }), "the nodes cannot be counted: nobody"],
    [
      "nodes cannot be counted",
      listing([], 0, { count: { kind: "unknown", message: "403" } }),
      "the nodes cannot be counted: 403",
    ],
    [
      "there are more nodes than are listed",
      listing([], 0, { count: { kind: "count", count: 3 } }),
      "the API server lists 0 nodes, and counts 3",
    ],
    ["the API server lists one", listing([NODE], 0, WITHOUT_NODES), "the API server lists nodes to send to"],
    [
      "the API server lists one that is not initialized",
      listing([{ name: "b" }], 0),
      "the API server lists nodes to send to",
    ],
  ])("keeps it while %s", async (_, asked, message) => {
    const { object, targets, last } = await look(SERVED, asked);
    expect([object, targets]).toEqual([SERVED, ["i-a"]]);
    expect(last).toMatchObject({ kind: "retry", because: { message: expect.stringContaining(message) } });
  });

  test("keeps it until none has been listed for 30 s, and says so", async () => {
    const first = await look(SERVED, listing([]));
    expect(first).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 30 } });
    expect(needsWork(first.object, SETTINGS)).toBe(true);
    const later = await look(first.object, listing([], 29));
    expect(later).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 1 } });
    const [event] = later.last?.kind === "retry" ? later.last.events : [];
    expect(event && inWords(event)).toEqual({
      type: "Warning",
      reason: "UnAvailableLoadBalancer",
      message:
        "There are no available nodes for LoadBalancer: it keeps its targets until the API server has listed no eligible node twice, 30 seconds apart",
    });
    const last = await look(later.object, listing([], 30));
    expect(last).toMatchObject({ targets: [], last: { kind: "unchanged" } });
    expect(needsWork(last.object, SETTINGS)).toBe(false);
  });

  test("keeps it where nodes were excluded, until that has been listed for 30 s", async () => {
    const excluded = {
      listed: { kind: "list", items: [{ target: undefined }] },
      count: { kind: "count", count: 1 },
    } as const;
    const { object } = await look(SERVED, listing([], 0, excluded));
    expect(await look(object, listing([], 30, excluded))).toMatchObject({ targets: [] });
  });

  test("forgets an earlier look once the API server lists a node", async () => {
    const first = await look(SERVED, listing([]));
    const between = await look(first.object, listing([NODE], 20, WITHOUT_NODES));
    expect(markOf(between.object)?.targets).toBe("");
    expect(await look(between.object, listing([], 40))).toMatchObject({ targets: ["i-a"] });
  });

  test.each([
    ["more than five minutes ago", -301_000],
    ["in the future", 1_000],
  ])("does not count a look of %s", async (_, offsetMs) => {
    const { object } = await look(SERVED, listing([]));
    const mark = JSON.parse(annotationOf(object) ?? "") as { readonly targets: string };
    const since = new Date(NOW.getTime() + offsetMs);
    const old = withAnnotation(
      object,
      JSON.stringify({ ...mark, targets: mark.targets.replace(NOW.toISOString(), since.toISOString()) }),
    );
    const after = await look(old, listing([]));
    expect(after.targets).toEqual(["i-a"]);
    const said = markOf(after.object);
    expect(said && readNoNodeSince(said)).toBe(NOW.toISOString());
  });

  test.each<[string, Service]>([
    ["its annotation is lost", { ...SERVED, metadata: { ...SERVED.metadata, annotations: {} } }],
    ["another controller made it", service({ metadata: { finalizers: [] }, status: SERVED.status })],
    [
      "another controller is making it",
      { ...SERVED, metadata: { ...SERVED.metadata, annotations: {} }, status: {} },
    ],
  ])("keeps it where %s", async (_, object) => {
    const first = await look(object, listing([]));
    expect(first).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 30 } });
    expect((await look(first.object, listing([], 30))).targets).toEqual([]);
  });

  test("reads nodes for a proof where it needs one, and not otherwise", async () => {
    const controller = await controllerWith();
    const asks = (object: Service, nodes: readonly TargetNode[]) =>
      controller.stateOf?.(
        [{ object, answer: undefined, hint: undefined }],
        context({ related: related(nodes) }),
      );
    expect(asks(SERVED, [NODE])).toBeUndefined();
    expect(asks(service(), [])).toBeUndefined();
    const reading = asks(SERVED, []);
    expect(reading).toMatchObject({ counted: { name: "nodes" }, listed: { resource: { name: "nodes" } } });
    const node = { metadata: { name: "a" }, spec: { providerID: "i-a" } };
    const leaving = { ...node, spec: { taints: [{ key: "ToBeDeletedByClusterAutoscaler" }] } };
    const project = reading?.listed?.project;
    expect([project?.(node), project?.(leaving)]).toEqual([{ target: NODE }, { target: undefined }]);
    const elsewhere = { ...context().settings, cloud: { provider: "other" } };
    const subject = { object: SERVED, answer: undefined, hint: undefined };
    expect(
      controller.stateOf?.([subject], context({ ...WITHOUT_NODES, settings: elsewhere })),
    ).toBeUndefined();
  });

  test("has none to lose where the cloud has no targets", async () => {
    const { shelf } = await converged(SERVED, SHELF, context(WITHOUT_NODES), { hasNoTargets: true });
    expect(shelf?.targets).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { TargetNode } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation, readNoNodeSince } from "#core/service/state-annotation.ts";
import {
  buildContext,
  buildListing,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  getAnnotation,
  NOW,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const SERVED = await buildServedService();
const NODE = { name: "a", providerID: "i-a" };
/** Events contain no node, whatever the API server lists. */
const WITHOUT_NODES = { related: buildRelated([]) };

/** The targets of the shelf and of the Service after one round. */
async function look(object: Service, asked: DecisionContext) {
  const { object: after, shelf, decisions } = await converge(object, SHELF, asked);
  return { object: after, targets: shelf?.targets, last: decisions.at(-1) };
}

describe("a load balancer that seems to lose its last target", () => {
  test.each<[string, DecisionContext, string]>([
    [
      "no list of nodes was requested",
      buildContext(WITHOUT_NODES),
      "the nodes cannot be listed: no list was requested",
    ],
    [
      "nodes cannot be listed",
      buildListing([], 0, { listed: { kind: "unknown", message: "403" } }),
      "the nodes cannot be listed: 403",
    ],
    [
      "no count of nodes was requested",
      buildListing([], 0, { count: undefined }),
      "the nodes cannot be counted: no count",
    ],
    [
      "nodes cannot be counted",
      buildListing([], 0, { count: { kind: "unknown", message: "403" } }),
      "the nodes cannot be counted: 403",
    ],
    [
      "the API server counts more nodes than it lists",
      buildListing([], 0, { count: { kind: "count", count: 3 } }),
      "the API server lists 0 nodes, and counts 3",
    ],
    [
      "the API server lists an eligible node",
      buildListing([NODE], 0, WITHOUT_NODES),
      "the API server lists nodes to send to",
    ],
    [
      "the API server lists a node that is not initialized",
      buildListing([{ name: "b" }], 0),
      "the API server lists nodes to send to",
    ],
  ])("keeps the target while %s", async (_, asked, message) => {
    const { object, targets, last } = await look(SERVED, asked);
    expect([object, targets]).toEqual([SERVED, ["i-a"]]);
    expect(last).toMatchObject({ kind: "retry", because: { message: expect.stringContaining(message) } });
  });

  test("keeps the target until no node has been listed for 30 s, and reports that", async () => {
    const first = await look(SERVED, buildListing([]));
    expect(first).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 30 } });
    expect(needsWork(first.object, SETTINGS)).toBe(true);
    const later = await look(first.object, buildListing([], 29));
    expect(later).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 1 } });
    const [event] = later.last?.kind === "retry" ? later.last.events : [];
    expect(event && renderEvent(event)).toEqual({
      type: "Warning",
      reason: "UnAvailableLoadBalancer",
      message:
        "There are no available nodes for LoadBalancer: it keeps its targets until the API server has listed no eligible node twice, 30 seconds apart",
    });
    const last = await look(later.object, buildListing([], 30));
    expect(last).toMatchObject({ targets: [], last: { kind: "unchanged" } });
    expect(needsWork(last.object, SETTINGS)).toBe(false);
  });

  test("keeps the target if nodes were excluded, until they have been listed as such for 30 s", async () => {
    const excluded = {
      listed: { kind: "list", items: [{ target: undefined }] },
      count: { kind: "count", count: 1 },
    } as const;
    const { object } = await look(SERVED, buildListing([], 0, excluded));
    expect(await look(object, buildListing([], 30, excluded))).toMatchObject({ targets: [] });
  });

  test("forgets an earlier empty list once the API server lists a node", async () => {
    const first = await look(SERVED, buildListing([]));
    const between = await look(first.object, buildListing([NODE], 20, WITHOUT_NODES));
    expect(parseStateAnnotation(between.object)?.targets).toBe("");
    expect(await look(between.object, buildListing([], 40))).toMatchObject({ targets: ["i-a"] });
  });

  test.each([
    ["more than five minutes ago", -301_000],
    ["in the future", 1_000],
  ])("ignores an empty list from %s", async (_, offsetMs) => {
    const { object } = await look(SERVED, buildListing([]));
    const mark = JSON.parse(getAnnotation(object) ?? "") as { readonly targets: string };
    const since = new Date(NOW.getTime() + offsetMs);
    const old = setAnnotation(
      object,
      JSON.stringify({ ...mark, targets: mark.targets.replace(NOW.toISOString(), since.toISOString()) }),
    );
    const after = await look(old, buildListing([]));
    expect(after.targets).toEqual(["i-a"]);
    const said = parseStateAnnotation(after.object);
    expect(said && readNoNodeSince(said)).toBe(NOW.toISOString());
  });

  test.each<[string, Service]>([
    ["the Service has lost its annotation", { ...SERVED, metadata: { ...SERVED.metadata, annotations: {} } }],
    [
      "another controller created the load balancer",
      buildService({ metadata: { finalizers: [] }, status: SERVED.status }),
    ],
    [
      "another controller is creating the load balancer",
      { ...SERVED, metadata: { ...SERVED.metadata, annotations: {} }, status: {} },
    ],
  ])("keeps the target if %s", async (_, object) => {
    const first = await look(object, buildListing([]));
    expect(first).toMatchObject({ targets: ["i-a"], last: { kind: "retry", afterSeconds: 30 } });
    expect((await look(first.object, buildListing([], 30))).targets).toEqual([]);
  });

  test("needs a list of nodes only for that proof", async () => {
    const controller = await createController();
    const asks = (object: Service, nodes: readonly TargetNode[]) =>
      controller.getStateReference?.(
        [{ object, answer: undefined, hint: undefined }],
        buildContext({ related: buildRelated(nodes) }),
      );
    expect(asks(SERVED, [NODE])).toBeUndefined();
    expect(asks(buildService(), [])).toBeUndefined();
    const reading = asks(SERVED, []);
    expect(reading).toMatchObject({ counted: { name: "nodes" }, listed: { resource: { name: "nodes" } } });
    const node = { metadata: { name: "a" }, spec: { providerID: "i-a" } };
    const leaving = { ...node, spec: { taints: [{ key: "ToBeDeletedByClusterAutoscaler" }] } };
    const project = reading?.listed?.project;
    expect([project?.(node), project?.(leaving)]).toEqual([{ target: NODE }, { target: undefined }]);
    const elsewhere = { ...buildContext().settings, cloud: { provider: "other" } };
    const subject = { object: SERVED, answer: undefined, hint: undefined };
    expect(
      controller.getStateReference?.([subject], buildContext({ ...WITHOUT_NODES, settings: elsewhere })),
    ).toBeUndefined();
  });

  test("has no target to lose on a cloud without targets", async () => {
    const { shelf } = await converge(SERVED, SHELF, buildContext(WITHOUT_NODES), { hasNoTargets: true });
    expect(shelf?.targets).toEqual([]);
  });
});

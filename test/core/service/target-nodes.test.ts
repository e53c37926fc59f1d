import { describe, expect, test } from "vitest";
import { hashLabels } from "#core/service/state-annotation.ts";
import {
  NODES_FOR_PROOF,
  readListedNodes,
  relatedNodes,
  selectTargetNodes,
} from "#core/service/target-nodes.ts";
import { buildRelated, buildService } from "#test/core/service/builders.ts";

const EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers";

function node(difference: { readonly metadata?: object; readonly spec?: object } = {}): unknown {
  return {
    metadata: { name: "a", uid: "1", ...difference.metadata },
    spec: { providerID: "aws:///a/i-1", ...difference.spec },
    status: { conditions: [{ type: "Ready", status: "False" }] },
  };
}

describe("a node of load balancers", () => {
  const labelled = (value: string): unknown => node({ metadata: { labels: { [EXCLUDE]: value } } });
  const tainted = (key: string): unknown => node({ spec: { taints: [{ key, effect: "NoSchedule" }] } });

  test.each<[string, unknown, boolean]>([
    ["whether it is Ready or not", node(), true],
    ["without a provider ID", node({ spec: { providerID: undefined } }), true],
    ["without a spec", { metadata: { name: "a" } }, true],
    ["that is not initialized", tainted("node.cloudprovider.kubernetes.io/uninitialized"), true],
    ["that is cordoned", tainted("node.kubernetes.io/unschedulable"), true],
    ["that the autoscaler takes away", tainted("ToBeDeletedByClusterAutoscaler"), false],
    ["that is being deleted", node({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), false],
    ...["0", "f", "F", "FALSE", "false", "False"].map((value): [string, unknown, boolean] => [
      `whose label says ${value}`,
      labelled(value),
      true,
    ]),
    ...["", "1", "true", "no", "falsE", " false"].map((value): [string, unknown, boolean] => [
      `whose label says "${value}"`,
      labelled(value),
      false,
    ]),
    ["that is not valid", { metadata: {} }, false],
  ])("is one %s", (_, object, isTarget) => {
    expect(relatedNodes.project(object) !== undefined).toBe(isTarget);
  });

  test("has a name, a provider ID and labels, and no fields that its kubelet writes regularly", () => {
    expect(relatedNodes.project(node())).toEqual({ name: "a", providerID: "aws:///a/i-1" });
    expect(relatedNodes.project(node({ spec: { providerID: "" } }))).toEqual({ name: "a" });
    expect(relatedNodes.project(node({ metadata: { labels: { pool: "edge" } } }))).toEqual({
      name: "a",
      providerID: "aws:///a/i-1",
      labels: hashLabels({ pool: "edge" }),
    });
  });

  test.each([
    ["LoadBalancer", "all"],
    ["ClusterIP", []],
  ] as const)("is read by a Service of type %s: %j", (type, reads) => {
    expect(relatedNodes.reads(buildService({ spec: { type } }))).toEqual(reads);
  });
});

describe("the nodes that are listed as proof", () => {
  const list = (...nodes: readonly unknown[]) =>
    readListedNodes({
      count: { kind: "count", count: nodes.length },
      listed: {
        kind: "list",
        items: nodes.flatMap((each) => NODES_FOR_PROOF.listed?.project(each) ?? []),
      },
    });

  test("are those that can be targets", () => {
    const excluded = node({ metadata: { labels: { [EXCLUDE]: "" } } });
    expect(list(node(), excluded)).toEqual({
      kind: "nodes",
      nodes: [{ name: "a", providerID: "aws:///a/i-1" }],
    });
  });

  test("prove nothing if one cannot be read", () => {
    expect(list(node(), node({ metadata: { labels: 7 } }))).toMatchObject({ kind: "unproven" });
  });
});

describe("the nodes of an event", () => {
  test("are sorted by name, and parsed once", () => {
    const lists = buildRelated([{ name: "b" }, { name: "a", providerID: "i-a" }]);
    const nodes = selectTargetNodes(lists);
    expect(nodes).toEqual({
      resourceVersion: "500",
      nodes: [{ name: "a", providerID: "i-a" }, { name: "b" }],
    });
    expect(selectTargetNodes(lists)).toBe(nodes);
  });

  test("do not contain invalid ones", () => {
    expect(
      selectTargetNodes({ nodes: { resourceVersion: "1", items: [{}, null, { name: "a" }] } })?.nodes,
    ).toEqual([{ name: "a" }]);
  });

  test("are unknown if the event came without them", () => {
    expect(selectTargetNodes({})).toBeUndefined();
  });
});

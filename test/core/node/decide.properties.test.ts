import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { Decision } from "#core/decision.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node, Taint } from "#core/node/node.ts";
import { parseNode, projectNode } from "#core/node/snapshot.ts";
import { needsInstance, needsWork } from "#core/node/watch.ts";
import { applyPolicies } from "#core/policies.ts";
import { checkProperty } from "#test/core/check-property.ts";
import {
  answers,
  contexts,
  failures,
  nodes,
  possibleAnswers,
  reasons,
  taintedNodes,
  usableInstances,
} from "#test/core/node/arbitraries.ts";
import { LABEL_PREFIXES, NOW } from "#test/core/node/builders.ts";
import { carryOut, listPatches } from "#test/core/node/carry-out.ts";

describe("for any node and instance", { timeout: 60_000 }, () => {
  test("a decision matches its schema, and is JSON", () => {
    checkProperty([nodes, possibleAnswers, contexts], (node, answer, context) => {
      const decision = decideNode(node, answer, context);
      expect(Decision.parse(JSON.parse(JSON.stringify(decision)))).toEqual(decision);
    });
  });

  test("a second decision on the result of a change finds no work", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const decision = decideNode(node, answer, context);
      fc.pre(decision.kind === "change");
      const after = carryOut(node, decision);
      const again = decideNode(after, answer, context);
      // A node whose name now belongs to another instance gets a Warning as long as that lasts.
      const isReplaced = again.kind === "retry" && again.because.code === "InstanceReplaced";
      expect(isReplaced || again.kind === "unchanged" || again.kind === "skip").toBe(true);
      if (decision.because.code === "Initialized") expect(again.kind).toBe("unchanged");
      expect(needsWork(after)).toBe(false);
    });
  });

  test("a refresh with an unchanged instance finds an initialized node up to date", () => {
    checkProperty([taintedNodes, usableInstances], (node, answer) => {
      const decision = decideNode(node, answer, { reason: "watch", now: NOW });
      fc.pre(decision.kind === "change" && decision.because.code === "Initialized");
      const again = decideNode(carryOut(node, decision), answer, { reason: "refresh", now: NOW });
      expect(again).toMatchObject({ kind: "unchanged", because: { code: "UpToDate" } });
    });
  });

  test("a node and its snapshot give equal decisions", () => {
    checkProperty([nodes, possibleAnswers, contexts], (node, answer, context) => {
      const snapshot = projectNode(node, LABEL_PREFIXES);
      expect(decideNode(snapshot, answer, context)).toEqual(decideNode(node, answer, context));
      expect(needsWork(snapshot)).toBe(needsWork(node));
    });
  });

  test("a snapshot is a valid node, and its own snapshot", () => {
    checkProperty([nodes], (node) => {
      const snapshot = projectNode(node, LABEL_PREFIXES);
      expect(parseNode(JSON.parse(JSON.stringify(snapshot)))).toEqual({ kind: "object", object: snapshot });
      expect(projectNode(snapshot, LABEL_PREFIXES)).toEqual(snapshot);
    });
  });

  test("the tests of a change pass on the decided node, and after the earlier writes", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const decision = decideNode(node, answer, context);
      fc.pre(decision.kind === "change");
      expect(() => carryOut(node, decision)).not.toThrow();
    });
  });

  test("taints of others stay, verbatim and in order, and so do labels of others", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const after = carryOut(node, decideNode(node, answer, context));
      expect(foreignTaints(after)).toEqual(foreignTaints(node));
      const { correctDiffering } = context.settings.nodes.labels;
      const corrected = correctDiffering && answer.kind === "found" ? answer.instance.labels : {};
      const foreign = Object.entries(foreignLabels(node)).filter(([key]) => !Object.hasOwn(corrected, key));
      expect(after.metadata.labels ?? {}).toMatchObject(Object.fromEntries(foreign));
    });
  });

  test("no label or annotation is removed, addresses are never emptied, and a provider ID never changes", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const after = carryOut(node, decideNode(node, answer, context));
      expect(keysOf(after)).toEqual(expect.arrayContaining(keysOf(node)));
      if (node.spec.providerID) expect(after.spec.providerID).toBe(node.spec.providerID);
    });
  });

  test("an answer without an instance removes nothing and initializes nothing", () => {
    checkProperty([nodes, failures, contexts], (node, answer, context) => {
      const after = carryOut(node, decideNode(node, answer, context));
      expect({ spec: after.spec, status: after.status }).toEqual({ spec: node.spec, status: node.status });
    });
  });

  test("a node with neither an InternalIP nor an ExternalIP keeps its taint", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const after = carryOut(node, decideNode(node, answer, context));
      fc.pre(
        !(after.status.addresses ?? []).some(({ type }) => type === "InternalIP" || type === "ExternalIP"),
      );
      expect(after.spec.taints).toEqual(node.spec.taints);
    });
  });

  test("the last write removes the taint, after the addresses are written", () => {
    checkProperty([taintedNodes, usableInstances], (node, answer) => {
      const decision = decideNode(node, answer, { reason: "watch", now: NOW });
      fc.pre(decision.kind === "change");
      const removing = listPatches(decision).map(({ patch }) => patch.some(({ op }) => op === "remove"));
      expect(removing.slice(0, -1)).not.toContain(true);
      expect(
        listPatches(decision)
          .map(({ subresource }) => subresource)
          .lastIndexOf("status"),
      ).toBeLessThanOrEqual(0);
    });
  });

  test("a node that is being deleted is never written", () => {
    checkProperty([nodes, possibleAnswers, contexts], (node, answer, context) => {
      const going = { ...node, metadata: { ...node.metadata, deletionTimestamp: "2026-03-01T11:59:59Z" } };
      expect(decideNode(going, answer, context).kind).toBe("skip");
    });
  });

  test("a watch changes a node only if it needs work", () => {
    checkProperty([nodes], (node) => {
      const { kind } = decideNode(node, undefined, { reason: "watch", now: NOW });
      expect(kind === "skip" || kind === "unchanged").toBe(!needsWork(node));
    });
  });

  test("the cloud's answer has no effect on a node that does not need it", () => {
    checkProperty([nodes, answers, reasons], (node, answer, reason) => {
      fc.pre(!needsInstance(node, reason));
      const context = { reason, now: NOW };
      expect(decideNode(node, answer, context)).toEqual(decideNode(node, undefined, context));
    });
  });

  test("labels-only writes only labels, and then has no work left", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const decide = (subject: Node) =>
        applyPolicies(decideNode(subject, answer, context), { dryRun: false, labelsOnly: true });
      const after = carryOut(node, decide(node));
      const { labels: _, ...metadata } = after.metadata;
      expect({ ...node, metadata: { ...node.metadata, labels: undefined } }).toEqual({
        ...after,
        metadata: { ...metadata, labels: undefined },
      });
      expect(decide(after).kind).not.toBe("change");
    });
  });

  test("a dry run writes nothing, not even an Event", () => {
    checkProperty([nodes, answers, contexts], (node, answer, context) => {
      const decision = applyPolicies(decideNode(node, answer, context), { dryRun: true, labelsOnly: false });
      expect(decision).toEqual(decision.kind === "retry" ? { ...decision, events: [] } : decision);
      expect(Decision.parse(decision)).toEqual(decision);
    });
  });
});

function foreignTaints(node: Node): Taint[] {
  return (node.spec.taints ?? []).filter(({ key }) => key !== UNINITIALIZED_TAINT);
}

const PAIR =
  /^(topology\.kubernetes|failure-domain\.beta\.kubernetes|node\.kubernetes|beta\.kubernetes)\.io\//;

function foreignLabels(node: Node): Record<string, string> {
  return Object.fromEntries(Object.entries(node.metadata.labels ?? {}).filter(([key]) => !PAIR.test(key)));
}

function keysOf({ metadata, status }: Node): string[] {
  const { labels = {}, annotations = {} } = metadata;
  return [
    ...Object.keys(labels),
    ...Object.keys(annotations),
    ...(status.addresses?.length ? ["addresses"] : []),
  ];
}

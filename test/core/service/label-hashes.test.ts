import { expect, test } from "vitest";
import { hashLabels, hasLabel } from "#core/service/state-annotation.ts";

const labels = { "eks.amazonaws.com/nodegroup": "edge", "kubernetes.io/os": "linux", empty: "" };

test.each([
  ["eks.amazonaws.com/nodegroup", "edge", true],
  ["eks.amazonaws.com/nodegroup", "", true],
  ["eks.amazonaws.com/nodegroup", "core", false],
  ["empty", "", true],
  ["empty", "x", false],
  ["edge", "", false],
  ["linux", "", false],
])("whether a node has the label %s=%s: %s", (key, value, expected) => {
  expect(hasLabel(hashLabels(labels), key, value)).toBe(expected);
});

test("ignores the order of labels, and an empty set gives an empty text", () => {
  const reversed = Object.fromEntries(Object.entries(labels).reverse());
  expect(hashLabels(reversed)).toBe(hashLabels(labels));
  expect(hashLabels({})).toBe("");
  expect(hasLabel("", "any", "")).toBe(false);
});

test("a label takes ten letters, however long it is", () => {
  expect(hashLabels({ [`${"a".repeat(200)}/${"b".repeat(63)}`]: "c".repeat(63) })).toHaveLength(10);
});

import { expect, test } from "vitest";
import { hasLabel, labelMarks } from "#core/service/label-marks.ts";

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
  expect(hasLabel(labelMarks(labels), key, value)).toBe(expected);
});

test("the order of labels does not matter, and none is nothing", () => {
  const reversed = Object.fromEntries(Object.entries(labels).reverse());
  expect(labelMarks(reversed)).toBe(labelMarks(labels));
  expect(labelMarks({})).toBe("");
  expect(hasLabel("", "any", "")).toBe(false);
});

test("a label costs ten letters, however long it is", () => {
  expect(labelMarks({ [`${"a".repeat(200)}/${"b".repeat(63)}`]: "c".repeat(63) })).toHaveLength(10);
});

import { expect, test } from "vitest";
import { isSelected, labelSelector } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { labelMarks } from "#core/service/label-marks.ts";

const LABELS = { pool: "front", tier: "a", "example.com/gpu": "" };

test.each([
  ["pool=front", true],
  ["pool==front", true],
  ["pool=back", false],
  ["pool!=front", false],
  ["pool!=back", true],
  ["zone!=a", true],
  ["tier in (a,b)", true],
  ["tier in (b, c)", false],
  ["tier notin (a,b)", false],
  ["tier notin (b)", true],
  ["zone notin (b)", true],
  ["pool", true],
  ["example.com/gpu", true],
  ["zone", false],
  ["!zone", true],
  ["! pool", false],
  ["pool=front,tier in (a,b),!zone", true],
  ["pool=front,tier=b", false],
])("%s: %s", (written, expected) => {
  const read = labelSelector(written);
  expect(read.ok && isSelected(labelMarks(LABELS), read.value)).toBe(expected);
});

test.each([
  "pool=",
  "a,,b",
  "tier in a",
  "tier in (a,)",
  "a b",
  "=a",
  "-a=b",
  "a=b=c",
  "a in (b",
  `${"a,".repeat(30)}a`,
  // Longer than a pattern that goes back and forth would be done with in a lifetime.
  ",".repeat(250_000),
  "(".repeat(250_000),
])("%.40s is no selector", (written) => {
  expect(labelSelector(written).ok).toBe(false);
});

test.each([
  ["!spot", true],
  ["spot", false],
])("a node without labels and %s", (written, expected) => {
  const read = labelSelector(written);
  expect(read.ok && isSelected(undefined, read.value)).toBe(expected);
});

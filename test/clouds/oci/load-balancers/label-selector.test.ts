import { expect, test } from "vitest";
import { isSelected, readLabelSelector } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { hashLabels } from "#core/service/state-annotation.ts";

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
  const read = readLabelSelector(written);
  expect(read.ok && isSelected(hashLabels(LABELS), read.value)).toBe(expected);
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
  // A backtracking pattern would not finish on this in a lifetime.
  ",".repeat(250_000),
  "(".repeat(250_000),
])("%.40s is not a selector", (written) => {
  expect(readLabelSelector(written).ok).toBe(false);
});

test.each([
  ["!spot", true],
  ["spot", false],
])("a node without labels and %s", (written, expected) => {
  const read = readLabelSelector(written);
  expect(read.ok && isSelected(undefined, read.value)).toBe(expected);
});

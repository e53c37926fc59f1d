import { expect, test } from "vitest";
import { hasLabels } from "#clouds/aws/load-balancers/annotations/readers.ts";
import { isAmong } from "#clouds/aws/load-balancers/annotations/table.ts";
import { hashLabels } from "#core/service/state-annotation.ts";

test.each([
  [undefined, { port: 80, name: "http" }, true],
  [{ numbers: [443], names: [] }, { port: 443 }, true],
  [{ numbers: [443], names: [] }, { port: 80 }, false],
  [{ numbers: [], names: ["https"] }, { port: 80, name: "https" }, true],
  [{ numbers: [], names: ["https"] }, { port: 80, name: "http" }, false],
])("among ports %j is %j: %s", (ports, port, expected) => {
  expect(isAmong(ports, { protocol: "TCP", ...port })).toBe(expected);
});

test.each([
  [{ pool: "edge", zone: "a" }, { pool: "edge" }, true],
  [{ pool: "edge" }, { pool: "edge", zone: "" }, false],
  [{ pool: "edge", zone: "x" }, { pool: "edge", zone: "" }, true],
  [{ pool: "core" }, { pool: "edge" }, false],
  [{}, { constructor: "" }, false],
  [undefined, { pool: "" }, false],
  [undefined, undefined, true],
])("a node with labels %j is a target of %j: %s", (labels, wanted, expected) => {
  expect(hasLabels(labels === undefined ? undefined : hashLabels(labels), wanted)).toBe(expected);
});

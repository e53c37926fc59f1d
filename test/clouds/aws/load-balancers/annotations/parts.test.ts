import { expect, test } from "vitest";
import { canonicalNetwork } from "#clouds/aws/load-balancers/annotations/networks.ts";
import { readSourceRanges, SOURCE_RANGES } from "#clouds/aws/load-balancers/annotations/source-ranges.ts";
import { hasLabels } from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import { isAmong } from "#clouds/aws/load-balancers/annotations/tls-ports.ts";
import { labelMarks } from "#core/service/label-marks.ts";
import { Service } from "#core/service/service.ts";

test.each([
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["10.0.0.0/032", "10.0.0.0/32"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["255.255.255.255/1", "128.0.0.0/1"],
  ["::/0", "::/0"],
  ["FD00:0:0:1::AB/64", "fd00:0:0:1::/64"],
  ["2001:db8::1/128", "2001:db8::1/128"],
  ["2001:0:0:1:0:0:0:1/128", "2001:0:0:1::1/128"],
  ["1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8/128"],
  ["1:0:3:4:5:6:7:8/128", "1:0:3:4:5:6:7:8/128"],
  ["1:2:3:4:5:6::/96", "1:2:3:4:5:6::/96"],
])("%s is the network %s", (text, network) => {
  expect(canonicalNetwork(text)).toBe(network);
  expect(canonicalNetwork(network)).toBe(network);
});

test.each([
  ["10.0.0.1"],
  ["10.0.0.0/33"],
  ["::/129"],
  ["*"],
  [""],
  ["/8"],
  ["10.0.0.0/8/8"],
  ["10.0.0.0/-1"],
  ["10.0.0.0/8 "],
  ["::ffff:10.0.0.0/104"],
  ["10.0.0/8"],
])("'%s' is no network", (text) => {
  expect(canonicalNetwork(text)).toBeUndefined();
});

function service(spec: object, annotation?: string): Service {
  const annotations = annotation === undefined ? {} : { [SOURCE_RANGES]: annotation };
  const metadata = { namespace: "a", name: "b", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  return Service.parse({ metadata: { ...metadata, annotations }, spec });
}

test.each([
  ["nothing", service({}), undefined],
  ["white space", service({ loadBalancerSourceRanges: [] }, "  "), undefined],
  ["the spec", service({ loadBalancerSourceRanges: [" 10.1.0.0/8 ", "10.0.0.0/8"] }, "x"), ["10.0.0.0/8"]],
  [
    "the annotation",
    service({}, "192.168.2.0/24, ::/0,10.0.0.0/24"),
    ["10.0.0.0/24", "192.168.2.0/24", "::/0"],
  ],
] as const)("source ranges of %s", (_, given, ranges) => {
  expect(readSourceRanges(given)).toEqual({ kind: "read", ranges });
});

test.each([
  ["of the spec", service({ loadBalancerSourceRanges: ["*"] }), "spec.loadBalancerSourceRanges", "*"],
  ["of the annotation", service({}, "10.0.0.0/8,"), SOURCE_RANGES, ""],
  ["without a length", service({}, "10.0.0.1"), SOURCE_RANGES, "10.0.0.1"],
] as const)("a wrong source range %s is named", (_, given, field, value) => {
  expect(readSourceRanges(given)).toEqual({
    kind: "refused",
    problem: { code: "InvalidSourceRanges", field, value, allowed: expect.stringContaining("10.0.0.0/24") },
  });
});

test("there is a limit of source ranges", () => {
  const many = Array.from({ length: 1_001 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`);

  expect(readSourceRanges(service({ loadBalancerSourceRanges: many }))).toMatchObject({ kind: "refused" });
  expect(readSourceRanges(service({ loadBalancerSourceRanges: many.slice(1) }))).toMatchObject({
    kind: "read",
  });
});

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
])("a node of labels %j is a target of %j: %s", (labels, wanted, expected) => {
  expect(hasLabels(labels === undefined ? undefined : labelMarks(labels), wanted)).toBe(expected);
});

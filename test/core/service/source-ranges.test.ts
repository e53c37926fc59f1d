import { expect, test } from "vitest";
import { SOURCE_RANGES_ANNOTATION } from "#core/contracts.ts";
import { Service } from "#core/service/service.ts";
import { readSourceRanges } from "#core/service/source-ranges.ts";

function service(spec: object, annotation?: string): Service {
  const annotations = annotation === undefined ? {} : { [SOURCE_RANGES_ANNOTATION]: annotation };
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
  ["of the annotation", service({}, "10.0.0.0/8,"), SOURCE_RANGES_ANNOTATION, ""],
  ["without a length", service({}, "10.0.0.1"), SOURCE_RANGES_ANNOTATION, "10.0.0.1"],
] as const)("names an invalid source range %s", (_, given, field, value) => {
  expect(readSourceRanges(given)).toEqual({
    kind: "refused",
    issue: { code: "InvalidSourceRanges", field, value, allowed: expect.stringContaining("10.0.0.0/24") },
  });
});

test("limits the number of source ranges", () => {
  const many = Array.from({ length: 1_001 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`);

  expect(readSourceRanges(service({ loadBalancerSourceRanges: many }))).toMatchObject({ kind: "refused" });
  expect(readSourceRanges(service({ loadBalancerSourceRanges: many.slice(1) }))).toMatchObject({
    kind: "read",
  });
});

test("rejects too many source ranges before it parses one of them", () => {
  const many = Array.from({ length: 1_001 }, () => "*");

  expect(readSourceRanges(service({ loadBalancerSourceRanges: many }))).toMatchObject({
    issue: { value: undefined, allowed: "at most 1000 networks" },
  });
});

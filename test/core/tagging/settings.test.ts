import { expect, test } from "vitest";
import { TaggingSettings } from "#core/tagging/settings.ts";

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, ""]));

test.each<{ what: string; tags: Record<string, string>; faults: number }>([
  { what: "custom tags", tags: { team: "a", "example.com/cost": "", Name: "x" }, faults: 0 },
  { what: "the maximum number of tags", tags: many(40), faults: 0 },
  { what: "one tag above the maximum", tags: many(41), faults: 1 },
  { what: "a cluster's tag", tags: { "kubernetes.io/cluster/demo": "owned" }, faults: 1 },
  { what: "the legacy cluster tag", tags: { kubernetesCluster: "demo" }, faults: 1 },
  {
    what: "a tag reserved for AWS, and our own mark",
    tags: { "AWS:name": "", "serverless-ccm.io/tags/demo": "" },
    faults: 2,
  },
  { what: "an empty key", tags: { "": "x" }, faults: 1 },
  { what: "a value that is too long", tags: { team: "x".repeat(257) }, faults: 1 },
])("$what: $faults errors", ({ tags, faults }) => {
  expect(TaggingSettings.safeParse({ tags }).error?.issues.length ?? 0).toBe(faults);
});

test("the error about a forbidden tag names it", () => {
  const { error } = TaggingSettings.safeParse({ tags: { "aws:x": "" } });
  expect(error?.issues).toMatchObject([
    { path: ["tags", "aws:x"], message: expect.stringContaining("aws:") },
  ]);
});

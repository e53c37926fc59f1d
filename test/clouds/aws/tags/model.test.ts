import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { awsTags } from "#clouds/aws/tags/model.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import type { Tags } from "#core/tagging/model.ts";

const settings = (cluster: string, clusterTag?: string): Settings => ({
  ...DEFAULT_SETTINGS,
  cluster,
  cloud: { provider: "aws", ...(clusterTag === undefined ? {} : { clusterTag }) },
});

test.each([
  { providerID: "aws:///eu-central-1a/i-0123456789abcdef0", id: "i-0123456789abcdef0" },
  { providerID: "i-0123456789abcdef0", id: "i-0123456789abcdef0" },
  { providerID: "aws:///eu-central-1a/fargate-ip-10-0-0-1.eu-central-1.compute.internal", id: undefined },
  { providerID: "aws:///eu-central-1a/i-*", id: undefined },
  { providerID: "gce://project/zone/i-0123456789abcdef0", id: undefined },
  { providerID: "", id: undefined },
])("of $providerID the instance is $id", ({ providerID, id }) => {
  expect(awsTags.resourceOf(providerID)).toBe(id);
});

test("the checksum is the stock controller's: MD5 of the pairs, sorted as bytes and joined by commas", () => {
  // As `echo -n 'cost=,team=a' | md5sum` says.
  expect(awsTags.checksum({ team: "a", cost: "" })).toBe("921fdfcf53e96f14d8c4864f6b5d26b7");
  const bytes = createHash("md5").update("\u{ff5e}=1,\u{1f600}=1").digest("hex");
  expect(awsTags.checksum({ "\u{1f600}": "1", "\u{ff5e}": "1" })).toBe(bytes);
});

test("a resource's mark tells our tags from all others, whatever their values are by now", () => {
  const cluster = settings("tenant-a");
  const marked = awsTags.marked({ team: "a", cost: "b" }, cluster);
  expect(Object.keys(marked)).toEqual(["team", "cost", "serverless-ccm.io/tags/tenant-a"]);
  const changed = { ...marked, team: "x", Name: "mine", "kubernetes.io/cluster/tenant-a": "owned" };
  expect(awsTags.owned(changed, cluster)).toEqual(["team", "cost", awsTags.mark(cluster)]);
  const { cost: _, ...rest }: Tags = changed;
  expect(awsTags.owned(rest, cluster)).toEqual(["team", awsTags.mark(cluster)]);
  expect(awsTags.owned({ team: "a" }, cluster)).toEqual([]);
  expect(awsTags.owned(marked, settings("tenant-b"))).toEqual([]);
});

test("forty keys of any length fit into a mark", () => {
  const keys = Array.from({ length: 40 }, (_, index) => `${index}-${"k".repeat(120)}`);
  const marked = awsTags.marked(Object.fromEntries(keys.map((key) => [key, ""])), settings("a"));
  expect(marked[awsTags.mark(settings("a"))]?.length).toBe(240);
  expect(awsTags.owned(marked, settings("a"))).toHaveLength(41);
});

test.each([
  { cluster: settings("a", "tag"), key: "serverless-ccm.io/tags/tag" },
  { cluster: settings("x".repeat(105)), key: `serverless-ccm.io/tags/${"x".repeat(105)}` },
  {
    cluster: settings("x".repeat(106)),
    key: expect.stringMatching(/^serverless-ccm\.io\/tags\/[0-9a-f]{64}$/),
  },
])("the mark is called $key", ({ cluster, key }) => {
  expect(awsTags.mark(cluster)).toEqual(key);
  expect(awsTags.mark(cluster).length).toBeLessThanOrEqual(128);
});

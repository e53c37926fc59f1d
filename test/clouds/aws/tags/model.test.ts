import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { awsTags } from "#clouds/aws/tags/model.ts";
import type { Tags } from "#core/node-tags.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

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
])("the instance of $providerID is $id", ({ providerID, id }) => {
  expect(awsTags.getResource(providerID)).toBe(id);
});

test("the checksum is the stock controller's: MD5 of the pairs, sorted as bytes and joined by commas", () => {
  // According to `echo -n 'cost=,team=a' | md5sum`.
  expect(awsTags.checksum({ team: "a", cost: "" })).toBe("921fdfcf53e96f14d8c4864f6b5d26b7");
  const bytes = createHash("md5").update("\u{ff5e}=1,\u{1f600}=1").digest("hex");
  expect(awsTags.checksum({ "\u{1f600}": "1", "\u{ff5e}": "1" })).toBe(bytes);
});

test("a resource's mark distinguishes our tags from all others, and from those whose value others have set", () => {
  const cluster = settings("tenant-a");
  const marked = awsTags.marked({ team: "a", cost: "b" }, cluster);
  expect(Object.keys(marked)).toEqual(["team", "cost", "serverless-ccm.io/tags/tenant-a"]);
  const more = { ...marked, Name: "mine", "kubernetes.io/cluster/tenant-a": "owned" };
  expect(awsTags.owned(more, cluster.tagging.tags, cluster)).toEqual(["team", "cost", awsTags.mark(cluster)]);
  expect(awsTags.owned({ ...more, team: "x" }, cluster.tagging.tags, cluster)).toEqual([
    "cost",
    awsTags.mark(cluster),
  ]);
  const { cost: _, ...rest }: Tags = more;
  expect(awsTags.owned(rest, cluster.tagging.tags, cluster)).toEqual(["team", awsTags.mark(cluster)]);
  expect(awsTags.owned({ team: "a" }, cluster.tagging.tags, cluster)).toEqual([]);
  expect(awsTags.owned(marked, cluster.tagging.tags, settings("tenant-b"))).toEqual([]);
});

/** How earlier versions wrote and read the mark: six characters of the hash of each key. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 6);
const previousMark = (keys: readonly string[]): string => keys.map(digestOf).toSorted().join("");
const readPreviously = (mark: string, keys: readonly string[]): readonly string[] => {
  const digests = new Set(mark.match(/.{6}/gs) ?? []);
  return keys.filter((key) => digests.has(digestOf(key)));
};

test.each([1, 20, 21, 40])(
  "%i tags of any length fit into a mark, and each is recognized by key and value",
  (count) => {
    const keys = Array.from({ length: count }, (_, index) => `${index}-${"k".repeat(120)}`);
    const cluster = settings("a");
    const marked = awsTags.marked(Object.fromEntries(keys.map((key) => [key, ""])), cluster);
    const mark = marked[awsTags.mark(cluster)] ?? "";
    // EC2 allows 256 characters of these.
    expect(mark).toMatch(/^[A-Za-z0-9_=-]{1,256}$/);
    expect(awsTags.owned(marked, cluster.tagging.tags, cluster)).toHaveLength(count + 1);
    const changed = Object.fromEntries(keys.map((key) => [key, "theirs"]));
    expect(awsTags.owned({ ...marked, ...changed }, cluster.tagging.tags, cluster)).toEqual([
      awsTags.mark(cluster),
    ]);
    // An earlier version recognizes its tags by the same mark; with more than twenty it marks the instance
    // again first.
    expect(readPreviously(mark, keys)).toHaveLength(count <= 20 ? count : 0);
  },
);

test("the mark of an earlier version names its keys; a value that differs from the configuration belongs to others", () => {
  const cluster = { ...settings("a"), tagging: { tags: { team: "a" }, resources: ["instance" as const] } };
  const mark = { [awsTags.mark(cluster)]: previousMark(["team", "cost"]) };
  expect(awsTags.owned({ team: "a", cost: "b", Name: "n", ...mark }, cluster.tagging.tags, cluster)).toEqual([
    ...["team", "cost"],
    awsTags.mark(cluster),
  ]);
  expect(awsTags.owned({ team: "theirs", cost: "b", ...mark }, cluster.tagging.tags, cluster)).toEqual([
    "cost",
    awsTags.mark(cluster),
  ]);
});

test.each([
  { cluster: settings("a", "tag"), key: "serverless-ccm.io/tags/tag" },
  { cluster: settings("x".repeat(105)), key: `serverless-ccm.io/tags/${"x".repeat(105)}` },
  {
    cluster: settings("x".repeat(106)),
    key: expect.stringMatching(/^serverless-ccm\.io\/tags\/[0-9a-f]{64}$/),
  },
])("the mark's key is $key", ({ cluster, key }) => {
  expect(awsTags.mark(cluster)).toEqual(key);
  expect(awsTags.mark(cluster).length).toBeLessThanOrEqual(128);
});

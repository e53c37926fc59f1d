import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isFaulty } from "#config/clusters-file.ts";
import { buildEntries } from "#config/registry/kubernetes/build-entries.ts";
import { type BuildEntryOptions, buildEntry } from "#config/registry/kubernetes/build-entry.ts";
import { parseEntryDefaults } from "#config/registry/kubernetes/entry-defaults.ts";
import { type FoundCluster, parseLabelledSecret } from "#config/registry/kubernetes/found-cluster.ts";
import type { Transport } from "#kube/client/transport.ts";

const MANIFEST = new URL(
  "../../../../infra/management/kubernetes-home/cluster-defaults.yaml",
  import.meta.url,
);
const SHIPPED: string = parse(readFileSync(MANIFEST, "utf8")).data["cluster-defaults.yaml"];

const found = (difference: Partial<FoundCluster> = {}): FoundCluster => ({
  place: "secret team-a/prod-kubeconfig",
  path: "/api/v1/namespaces/team-a/secrets/prod-kubeconfig",
  namespace: "team-a",
  ownName: "prod",
  createdAtMs: 1_000,
  annotations: {},
  described: {
    kind: "server",
    server: "https://10.1.2.3:6443",
    certificateAuthorityData: undefined,
    tlsServerName: undefined,
    secret: { namespace: "team-a", name: "prod-kubeconfig", key: "value" },
  },
  ...difference,
});
const annotated = (annotations: Readonly<Record<string, string>>): FoundCluster =>
  found({
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`serverless-ccm.io/${key}`, value]),
    ),
  });
const options = (defaults: string, settings: Partial<BuildEntryOptions> = {}): BuildEntryOptions => ({
  home: "kubernetes:",
  defaults: parseEntryDefaults(defaults, "defaults.yaml"),
  ...settings,
});
const faultsOf = (cluster: FoundCluster, how: BuildEntryOptions): readonly string[] => {
  const entry = buildEntry(cluster, how);
  return isFaulty(entry) ? entry.faults.map(({ path, message }) => `${path}: ${message}`) : [];
};

describe("an upgrade", () => {
  // Hashes of a version that did not compare entries with each other.
  test.each([
    [
      "the defaults that were shipped",
      `cloud: { provider: aws, region: eu-central-1, vpc: vpc-0123456789abcdef0, clusterTag: "\${name}" }
signIn: { functions: { kind: web-identity, audience: "serverless-ccm:\${namespace}.\${name}" } }`,
      "prod",
      "c14111d82ad4b2af",
    ],
    [
      "a tag of the operator's",
      `cloud: { provider: aws, region: eu-central-1, clusterTag: "x-\${name}" }`,
      "x-prod",
      "9ebcca1f90bd03d7",
    ],
    ["no tag", "cloud: { provider: aws, region: eu-central-1, vpc: vpc-1 }", undefined, "40863e17d5c11d38"],
  ])("changes neither tag nor hash of an entry made with %s", (_, defaults, tag, hash) => {
    const entry = buildEntry(found(), options(defaults));
    if (isFaulty(entry)) throw new Error(JSON.stringify(entry));
    expect([entry.name, Object(entry.cloud)["clusterTag"], entry.hash]).toEqual(["team-a.prod", tag, hash]);
  });

  test("leaves the tag of the shipped defaults what Cluster API puts on machines, the cluster's own name", () => {
    expect(buildEntry(found(), options(SHIPPED))).toMatchObject({ cloud: { clusterTag: "prod" } });
  });
});

describe("an annotation", () => {
  const TAGGED = "cloud: { provider: aws, region: eu-central-1, vpc: vpc-1, clusterTag: x }";
  test.each(["cloud.provider", "cloud.region", "cloud.vpc", "cloud.clusterTag"])(
    "of %s, which decides what is the cluster's, counts where the operator lists it alone",
    (key) => {
      const value = { "cloud.provider": "aws", "cloud.region": "eu-west-1" }[key] ?? "vpc-2";
      const cluster = annotated({ [key]: value });
      expect(faultsOf(cluster, options(TAGGED))).toEqual([
        expect.stringContaining(`does not count: a writer of the object would decide it`),
      ]);
      expect(faultsOf(cluster, options(TAGGED))[0]).toContain(
        `--cluster-annotations (such as name,controllers,${key})`,
      );
      const listed = buildEntry(cluster, options(TAGGED, { annotations: [key] }));
      expect(listed).toMatchObject({ cloud: { [key.slice("cloud.".length)]: value } });
    },
  );

  test("of name and controllers counts, unless the operator lists others", () => {
    const cluster = annotated({ name: "blue", controllers: "csr-approver" });
    expect(buildEntry(cluster, options(TAGGED))).toMatchObject({
      name: "blue",
      controllers: ["csr-approver"],
    });
    const entry = buildEntry(cluster, options(TAGGED, { annotations: [] }));
    expect([entry.name, isFaulty(entry) && entry.faults.map(({ path }) => path)]).toEqual([
      "team-a.prod",
      ["name", "controllers"],
    ]);
  });

  test("of name is refused where the name is the tag, unless the operator lists it", () => {
    const untagged = "cloud: { provider: aws, region: eu-central-1, vpc: vpc-1 }";
    const cluster = annotated({ name: "others" });
    expect(faultsOf(cluster, options(untagged))).toEqual([
      expect.stringMatching(/^name: .*clusterTag in --cluster-defaults/),
    ]);
    expect(faultsOf(cluster, options(untagged, { annotations: ["name"] }))).toEqual([]);
  });
});

describe("several objects", () => {
  const namesIn = async (...clusters: readonly FoundCluster[]) => {
    const { clusters: usable, faulty } = await buildEntries(
      clusters.map((cluster) => ({ kind: "cluster", cluster })),
      {} as Transport,
      options("cloud: { provider: no-cloud }"),
    );
    return [usable.map(({ name }) => name), faulty.map(({ name, held }) => [name, held])];
  };
  const named = (ownName: string, createdAtMs: number, name?: string): FoundCluster => ({
    ...(name === undefined ? found() : annotated({ name })),
    ...{ ownName, createdAtMs, place: `secret team-a/${ownName}` },
  });

  test("are in the order of their age, and an object without a time is the youngest", async () => {
    const unknown = parseLabelledSecret({
      metadata: { name: "x", namespace: "team-a", creationTimestamp: { a: 1 } },
      data: {},
    });
    expect(unknown?.createdAtMs).toBe(Number.MAX_SAFE_INTEGER);
    expect(await namesIn(named("c", 3), named("a", 1), named("b", 2))).toEqual([
      ["team-a.a", "team-a.b", "team-a.c"],
      [],
    ]);
  });

  test("of one name leave it to the oldest, and no held one has a name of another cluster", async () => {
    const annotatedVictim = named("new", 3, "team-a.victim");
    expect(await namesIn(annotatedVictim, named("victim", 1), named("other", 2, "team-a.new"))).toEqual([
      ["team-a.victim", "team-a.new"],
      [["secret team-a/new", "SameName"]],
    ]);
  });

  test("of one name and one second leave it to the first by namespace and name", async () => {
    expect(await namesIn(named("b", 1, "blue"), named("a", 1, "blue"))).toEqual([
      ["blue"],
      [["team-a.b", "SameName"]],
    ]);
  });
});

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AddFlags, addCluster } from "#cli/clusters/add-cluster.ts";
import { ChecksFailedError, checkClusters } from "#cli/clusters/clusters.ts";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import { createSsmRegistry } from "#config/registry/ssm/ssm-registry.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { formatKubeconfig } from "#test/config/registry/kubernetes/management-stage.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const AUTHORITY = Buffer.from((await createCertificateAuthority()).certificate).toString("base64");
const FUNCTIONS = "functions={ kind: eks, clusterName: blue }";
const RELAY = "relay={ kind: eks, clusterName: blue }";

let folder: string;
let file: string;
let kubeconfig: string;
let lines: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "add-cluster-"));
  file = join(folder, "clusters.yaml");
  kubeconfig = join(folder, "kubeconfig");
  lines = [];
  await writeFile(join(folder, "cloud.yaml"), "region: eu-central-1\nvpc: vpc-0a\n");
  await writeFile(
    kubeconfig,
    formatKubeconfig(
      "https://10.1.2.3:6443",
      { token: "s3cret" },
      { "certificate-authority-data": AUTHORITY },
    ),
  );
});
afterEach(() => rm(folder, { recursive: true }));

function add(name: string, difference: Partial<AddFlags> = {}): Promise<void> {
  const flags = {
    clustersFile: file,
    kubeconfig,
    cloudProvider: "aws",
    cloudConfig: join(folder, "cloud.yaml"),
    signIn: [RELAY, FUNCTIONS],
    dryRun: false,
    ...difference,
  };
  return addCluster(name, flags, (line) => lines.push(line), {});
}

describe("an added cluster", () => {
  test("in a file is read as relay and functions read it; comments and order stay", async () => {
    await add("blue");
    await writeFile(file, `# of the east\n${await readFile(file, "utf8")}`);
    await add("green", { controllers: "cloud-node-controller,csr-approver" });
    const text = await readFile(file, "utf8");
    const { clusters, faulty } = await createFileRegistry(file).read();
    expect([clusters.map(({ name }) => name), faulty]).toEqual([["blue", "green"], []]);
    expect(clusters[1]).toMatchObject({
      server: "https://10.1.2.3:6443",
      certificateAuthorityData: AUTHORITY,
      cloud: { provider: "aws", region: "eu-central-1", vpc: "vpc-0a", sessionPolicy: "strict" },
      controllers: ["cloud-node-controller", "csr-approver"],
      signIn: { functions: { kind: "eks", clusterName: "blue" } },
    });
    expect([text.startsWith("# of the east\n"), text.includes("s3cret")]).toEqual([true, false]);
  });

  test("in a dry run is printed, and nothing is written", async () => {
    await add("blue", { dryRun: true });
    expect(lines.join("\n")).toContain("server: https://10.1.2.3:6443");
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });

  test("with an existing name is rejected, whether that entry is valid or not", async () => {
    await writeClustersFile(file, { name: "blue", server: "http://x" });
    const before = await readFile(file, "utf8");
    await expect(add("blue")).rejects.toThrow("there is an entry of the name blue already");
    expect(await readFile(file, "utf8")).toBe(before);
  });

  test("with several faults is rejected with all of them", async () => {
    await writeFile(join(folder, "cloud.yaml"), "regoin: eu-central-1\nvpc: vpc-0a\n");
    const said = await add("blue", { kubeconfig: join(folder, "none"), signIn: ["functions"] }).catch(String);
    for (const says of [
      "--kubeconfig: ",
      "--cloud-config regoin: unknown key",
      "--sign-in: is not understood",
    ])
      expect(said).toContain(says);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });

  test.each([
    ["no identity", [], "is missing for relay, node, node-lifecycle"],
    ["the relay alone", [RELAY], "is missing for node, node-lifecycle"],
    ["the functions alone", [FUNCTIONS], "is missing for relay: "],
    [
      "one of the functions",
      [RELAY, "node={ kind: eks, clusterName: blue }"],
      "is missing for node-lifecycle: ",
    ],
  ])(
    "without a sign-in for %s is rejected with the flag to add, and nothing is written",
    async (_, signIn, says) => {
      await expect(add("blue", { signIn })).rejects.toThrow(`--sign-in: ${says}`);
      await expect(readFile(file)).rejects.toThrow("ENOENT");
    },
  );

  test("in a file without clusters is written in lines of its own", async () => {
    await writeFile(file, "# ours\nclusters: []\n");
    await add("blue");
    expect(await readFile(file, "utf8")).toMatch(/^# ours\nclusters:\n {2}- name: blue\n {4}server: /);
  });

  test.each<[string, string, Partial<AddFlags>, object]>([
    ["with an invalid sign-in", "signIn.functions", { signIn: ["functions={ kind: eks }"] }, {}],
    ["with an unknown controller", "controllers[0]", { controllers: "Not one" }, {}],
    ["whose server is not verified", "insecure-skip-tls-verify", {}, { "insecure-skip-tls-verify": true }],
    ["with an invalid authority", "certificateAuthorityData", {}, { "certificate-authority-data": "Zm9v" }],
  ])("%s is rejected", async (_, says, flags, cluster) => {
    const given = { "certificate-authority-data": AUTHORITY, ...cluster };
    await writeFile(kubeconfig, formatKubeconfig("https://10.1.2.3:6443", { token: "s3cret" }, given));
    await expect(add("blue", flags)).rejects.toThrow(says);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });
});

describeWithPart("moto", "a cluster that is added to parameters", (program) => {
  let moto: Moto;
  beforeAll(async () => {
    moto = await startMoto(program);
    const credentials = {
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_REGION: "eu-central-1",
    };
    Object.assign(process.env, credentials, { AWS_ENDPOINT_URL_SSM: moto.url });
  });
  afterAll(() => moto.close());

  test("is read from there, and not written twice", async () => {
    await add("blue", { clustersFile: "ssm:/add/clusters/" });
    const { clusters } = await createSsmRegistry("/add/clusters/").read();
    expect(clusters.map(({ name, server }) => [name, server])).toEqual([["blue", "https://10.1.2.3:6443"]]);
    await expect(add("blue", { clustersFile: "ssm:/add/clusters/" })).rejects.toThrow("is there already");
    for (const [how, says] of [
      ["{ kind: token-file, file: /run/token }", "signIn.relay.file: names a file"],
      ["{ kind: token, from: { ssmParameter: /other/token } }", "signIn.relay.from: names the SSM parameter"],
    ] as const) {
      const adding = add("red", { clustersFile: "ssm:/add/clusters/", signIn: [`relay=${how}`] });
      await expect(adding).rejects.toThrow(says);
    }
    expect((await createSsmRegistry("/add/clusters/").read()).clusters).toHaveLength(1);
  });
});

describeWithPart("control-plane", "clusters check --connect", (binaries) => {
  let plane: KubeApiserver;
  beforeEach(async () => {
    plane = await startKubeApiserver({ folder: join(folder, "plane"), binaries });
  });
  afterEach(() => plane.close());

  const check = (connect: boolean): Promise<void> =>
    checkClusters({ clustersFile: file, signIn: "relay", connect }, (line) => lines.push(line));
  const cloud = { provider: "memory", instancesFile: "none.json" } as const;

  test("finds nothing if every identity has its rights", async () => {
    const { signIn, ...blue } = buildClusterEntry(plane, { name: "blue", cloud });
    // Other identities have rights if their controllers are enabled.
    const { relay, node, "node-lifecycle": nodeLifecycle } = signIn ?? {};
    await writeClustersFile(file, { ...blue, signIn: { relay, node, "node-lifecycle": nodeLifecycle } });
    await check(true).catch((error: Error) => lines.push(error.message));
    expect(lines).toEqual(["1 cluster, 0 faulty, 0 that cannot be signed in to, 0 checks failed"]);
  });

  test("finds missing rights and a silent API server; without --connect nothing is sent", async () => {
    const blue = buildClusterEntry(plane, { name: "blue", cloud });
    const weak = { ...blue.signIn, node: { kind: "token-file" as const, file: plane.tokenFile("sweep") } };
    await writeClustersFile(
      file,
      { ...blue, signIn: weak },
      { ...blue, name: "green", server: "https://127.0.0.1:1" },
    );
    await check(false);
    lines = [];
    await expect(check(true)).rejects.toBeInstanceOf(ChecksFailedError);
    expect(lines.join("\n")).toMatch(/cluster blue: permissions of .*(node|sweep)/);
    expect(lines.join("\n")).toContain("cluster green: api-server: ");
  });
});

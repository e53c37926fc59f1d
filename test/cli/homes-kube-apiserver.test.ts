import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CLUSTER_LABEL } from "#config/registry/kubernetes/found-cluster.ts";
import { IDENTITIES } from "#core/identities.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type KubeApiserver, OUR_MANIFESTS, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { initializeAsStock } from "#test/cli/fake-stock.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";
import { formatKubeconfig } from "#test/config/registry/kubernetes/management-stage.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithBoth } from "#test/setup/parts.ts";

const SERVICE_ACCOUNTS = fileURLToPath(new URL("../../infra/rbac/service-accounts", import.meta.url));
const NAMESPACE = "tenants";
const SECRET = `/api/v1/namespaces/${NAMESPACE}/secrets/blue`;
const PARAMETERS = "/homes/clusters/";
const HOMES = ["file", "ssm", "kubernetes"] as const;
type Home = (typeof HOMES)[number];

// One API server is the tenant's and, for `kubernetes:`, also the management cluster; each registry has one
// entry for it, named blue.
describeWithBoth("every command on every cluster registry", (binaries, motoProgram) => {
  let folder: string;
  let plane: KubeApiserver;
  let admin: Transport;
  let moto: Moto;
  let ec2: Ec2Server;
  let ssm: SSMClient;
  let authority: string;
  let homes: Readonly<Record<Home, readonly string[]>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "homes-"));
    [moto, ec2, plane] = await Promise.all([
      startMoto(motoProgram),
      startEc2(),
      startKubeApiserver({
        folder: join(folder, "plane"),
        binaries,
        manifests: [...OUR_MANIFESTS, SERVICE_ACCOUNTS],
      }),
    ]);
    ssm = new SSMClient({ region: ec2.region, endpoint: moto.url, credentials: CREDENTIALS });
    admin = connect(await getConnectOptions(plane, "admin"));
    authority = Buffer.from(await readFile(plane.certificateAuthorityFile, "utf8")).toString("base64");
    await joinAsStock();
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } };
    await ask(admin, { method: "POST", path: "/api/v1/namespaces", body });
    const defaults = join(folder, "defaults.yaml");
    await writeFile(defaults, JSON.stringify({ cloud: cloud(), policies: { dryRun: true } }));
    for (const identity of IDENTITIES) {
      const token = (await readFile(plane.tokenFile(identity), "utf8")).trim();
      await putParameter(`${PARAMETERS}tokens/${identity}`, token, "SecureString");
    }
    const management = `kubernetes:${await plane.kubeconfig("admin")}?namespace=${NAMESPACE}`;
    homes = {
      file: ["--clusters-file", join(folder, "clusters.yaml")],
      ssm: ["--clusters-file", `ssm:${PARAMETERS}`],
      kubernetes: [
        ...["--clusters-file", management, "--cluster-defaults", defaults],
        ...["--cluster-annotations", "name,controllers,policies.dryRun"],
      ],
    };
  });
  afterAll(async () => {
    ssm?.destroy();
    await admin?.close();
    await Promise.all([moto?.close(), ec2?.close(), plane?.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => Promise.all(HOMES.map((home) => writeEntry(home, true))));

  const CREDENTIALS = { accessKeyId: "test", secretAccessKey: "test" };
  const cloud = () => ({ provider: "aws" as const, region: ec2.region, vpc: DEFAULT_VPC_ID });

  async function joinAsStock(): Promise<void> {
    const { id, availabilityZone: zone, instanceType: type, privateIpAddress = "" } = ec2.addInstance();
    const providerID = `aws:///${zone}/${id}`;
    const body = buildJoiningNode({ name: "node-1", providerID });
    await ask(admin, { method: "POST", path: "/api/v1/nodes?fieldManager=kubelet", body });
    const addresses = [{ type: "InternalIP" as const, address: privateIpAddress }];
    await initializeAsStock(admin, "node-1", {
      providerID,
      type,
      zone,
      region: ec2.region,
      addresses,
    });
  }

  async function putParameter(Name: string, Value: string, Type: "String" | "SecureString"): Promise<void> {
    await ssm.send(new PutParameterCommand({ Name, Value, Type, Overwrite: true, Tier: "Advanced" }));
  }

  function writeEntry(home: Home, dryRun: boolean): Promise<unknown> {
    const entry = buildClusterEntry(plane, { name: "blue", cloud: cloud(), policies: { dryRun } });
    if (home === "file") return writeClustersFile(join(folder, "clusters.yaml"), entry);
    const { certificateAuthorityFile: _, ...withoutFiles } = entry;
    const token = (who: string) => ({ kind: "token", from: { ssmParameter: `${PARAMETERS}tokens/${who}` } });
    const signIn = Object.fromEntries(IDENTITIES.map((who) => [who, token(who)]));
    const own = { ...withoutFiles, certificateAuthorityData: authority, signIn };
    if (home === "ssm") return putParameter(`${PARAMETERS}blue`, JSON.stringify(own), "String");
    return putSecret(dryRun);
  }

  async function putSecret(dryRun: boolean | undefined, more: Readonly<Record<string, string>> = {}) {
    const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
    const annotations =
      dryRun === undefined
        ? more
        : { "serverless-ccm.io/name": "blue", "serverless-ccm.io/policies.dryRun": `${dryRun}` };
    const data = { "certificate-authority-data": authority };
    const kubeconfig = formatKubeconfig(plane.server, { token }, data);
    await putSecretWith("blue", { [CLUSTER_LABEL]: "true" }, { kubeconfig }, annotations);
  }

  async function putSecretWith(
    name: string,
    labels: Readonly<Record<string, string>>,
    stringData: Readonly<Record<string, string>>,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets`;
    await admin.send({ method: "DELETE", path: `${path}/${name}` });
    const metadata = { name, labels, annotations };
    await ask(admin, {
      method: "POST",
      path,
      body: { apiVersion: "v1", kind: "Secret", metadata, stringData },
    });
  }

  function command(home: Home, verb: string, ...more: readonly string[]): Promise<Ended> {
    return runProgram([...verb.split(" "), ...more, ...homes[home]], "", environment());
  }

  function environment() {
    return {
      AWS_ENDPOINT_URL: moto.url,
      AWS_ENDPOINT_URL_EC2: ec2.url,
      AWS_ENDPOINT_URL_STS: ec2.url,
      AWS_REGION: ec2.region,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_EC2_METADATA_DISABLED: "true",
    };
  }

  const REACH = ["--allowed-networks", "127.0.0.0/8"];

  describe.each(HOMES)("%s", (home) => {
    test.each([
      ["clusters list", [], 0, /^blue .* aws eu-central-1 /m],
      ["clusters hash", ["blue"], 0, /^[0-9a-f]{16}$/m],
      ["clusters check", ["--sign-in", "relay"], 0, /^1 cluster, 0 faulty, 0 that cannot be signed in to$/m],
      ["clusters check", ["--connect", ...REACH], 0, /^1 cluster, 0 faulty, .* 0 checks failed$/m],
      ["brake", ["blue", ...REACH], 0, /^brake +not pulled$/m],
      ["explain", ["node-1", "blue", ...REACH], 0, /node-1/],
      ["doctor", ["blue", ...REACH], 0, /^ok +permissions of relay /m],
      [
        "handover",
        ["blue", "--check", "--once", ...REACH],
        1,
        /^other: aws-cloud-controller-manager, at work/m,
      ],
      ["stop", [], 0, /^nothing is stopped$/m],
      ["handover", ["blue", "--dry-run", ...REACH], 0, /policies\.dryRun of blue in .*: true → false/],
      ["handback", ["blue", "--dry-run", ...REACH], 0, /policies\.dryRun of blue in .* is true already/],
    ] as const)("%s %j ends with %i", async (verb, flags, code, says) => {
      const ended = await command(home, verb, ...flags);
      expect(ended.stderr).not.toContain("ENOENT");
      expect(ended.stdout).toMatch(says);
      expect(ended.code).toBe(code);
    });

    test("handover and handback write what the next read uses, and nothing else", async () => {
      const hashes: string[] = [];
      const hashNow = async (): Promise<void> =>
        void hashes.push((await command(home, "clusters hash", "blue")).stdout);
      await hashNow();
      const over = await command(home, "handover", "blue", "--for", "1s", ...REACH);
      expect([over.stderr, over.code]).toEqual(["", 0]);
      expect(over.stdout).toContain("done: ours. Now theirs: --controllers=*,-cloud-node-controller");
      await hashNow();
      const again = await command(home, "handover", "blue", "--dry-run", ...REACH);
      expect(again.stdout).toMatch(/policies\.dryRun of blue in .* is false already/);
      const back = await command(home, "handback", "blue", "--for", "1s", ...REACH);
      expect([back.stderr, back.code]).toEqual(["", 0]);
      await hashNow();
      expect(hashes[1]).not.toBe(hashes[0]);
      expect(hashes[2]).toBe(hashes[0]);
    });
  });

  test("an annotation without effect is not written, and the error says what to list", async () => {
    await putSecret(undefined, { "serverless-ccm.io/controllers": "cloud-node-controller" });
    const flags = homes.kubernetes.slice(0, -1);
    const { code, stderr } = await runProgram(
      ["handover", `${NAMESPACE}.blue`, ...flags, "name,controllers", ...REACH],
      "",
      environment(),
    );
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("--cluster-annotations name,controllers,policies.dryRun"),
    ]);
    const secret = await askForJson(admin, { method: "GET", path: SECRET });
    expect(JSON.stringify(secret)).not.toContain("policies.dryRun");
  });

  test("an entry in a Secret is changed in place, without other changes of the Secret", async () => {
    const token = (who: string) => ({
      kind: "minted-token",
      ...{ management: homes.kubernetes[1], secret: `${NAMESPACE}/admin`, key: who },
    });
    const admins = formatKubeconfig(
      plane.server,
      { token: (await readFile(plane.tokenFile("admin"), "utf8")).trim() },
      { "certificate-authority-data": authority },
    );
    await putSecretWith("admin", {}, { relay: admins });
    const entry = {
      ...{ name: "blue", server: plane.server, certificateAuthorityData: authority, cloud: cloud() },
      ...{ signIn: { relay: token("relay") }, policies: { dryRun: true } },
    };
    const text = `# of the blue team\n${JSON.stringify(entry)}`;
    await putSecretWith("blue", { [CLUSTER_LABEL]: "true" }, { entry: text, notes: "mine" });
    const ended = await command(
      "kubernetes",
      "handover",
      "blue",
      "--for",
      "1s",
      "--entries-in-secrets",
      ...REACH,
    );
    expect([ended.stderr, ended.code]).toEqual(["", 0]);
    const { data } = (await askForJson(admin, { method: "GET", path: SECRET })) as {
      data: Record<string, string>;
    };
    const plain = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8");
    expect(plain("entry")).toBe(text.replace('"dryRun":true', '"dryRun":false'));
    expect(plain("notes")).toBe("mine");
  });

  test("a management cluster that rejects writes leaves the cluster as it is, and this is reported", async () => {
    const reference = `kubernetes:${await plane.kubeconfig("node")}?namespace=${NAMESPACE}`;
    const role = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "test-reads-secrets" };
    const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] }];
    const group = "/apis/rbac.authorization.k8s.io/v1";
    const metadata = { name: role.name };
    await ask(admin, { method: "POST", path: `${group}/clusterroles`, body: { metadata, rules } });
    const subjects = [{ kind: "User", name: "serverless-ccm-node", apiGroup: role.apiGroup }];
    const body = { metadata, roleRef: role, subjects };
    await ask(admin, { method: "POST", path: `${group}/clusterrolebindings`, body });
    const flags = ["--clusters-file", reference, ...homes.kubernetes.slice(2), ...REACH];
    const { code, stderr } = await runProgram(
      ["handover", "blue", ...flags, "--for", "1s"],
      "",
      environment(),
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/secret tenants\/blue of the management cluster cannot be changed: .*forbidden/),
    ]);
  });
});

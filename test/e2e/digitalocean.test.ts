import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { INSTANCE_ANNOTATION, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { Service } from "#core/service/service.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { REGION, TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, type NodeRecord, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { askForJson } from "#test/ask.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { countRequests } from "#test/clouds/digitalocean/world.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type NakedNodeWitness, witnessNakedNodes } from "#test/witness/naked-nodes.ts";
import { countWritesByNode, TWO_WRITES } from "#test/witness/requests.ts";

const NEXT_TOKEN = "dop_v1_the-next-one";

describeWithPart("control-plane", "a hundred nodes on a real API server and DigitalOcean", (binaries) => {
  let folder: string;
  let fake: FakeDigitalOcean;
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let naked: NakedNodeWitness;
  let history: NodeHistory;
  let ccm: Running;
  let identified: readonly FakeDroplet[];
  let unnamed: readonly FakeDroplet[];
  let foreign: FakeDroplet;
  let requestsOfBurst: Readonly<Record<string, number>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "digitalocean-"));
    fake = await startFakeDigitalOcean();
    // Active at the next observation.
    fake.newFor = 0;
    cluster = await startCluster(async (planeFolder) => {
      plane = await startKubeApiserver({ folder: planeFolder, binaries });
      for (const path of ["rbac/service-lb-controller", "admission", "admission/addresses"])
        await plane.apply(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)));
      return plane;
    });
    const admin = await cluster.transport("admin");
    naked = await witnessNakedNodes(plane, admin);
    history = await recordNodeHistory(admin);
    identified = Array.from({ length: 60 }, () => fake.add());
    unnamed = Array.from({ length: 40 }, () => fake.add());
    // Droplets of another cluster in the same VPC; with them a list would have two pages.
    for (let index = 0; index < 150; index += 1) fake.add({ tags: ["theirs"] });
    foreign = fake.add({ vpc_uuid: "11111111-2222-3333-4444-555555555555" });
    await startRun();
    await Promise.all([
      ...[...identified, foreign].map(({ name, id }) =>
        cluster.join({ name, providerID: `digitalocean://${id}` }),
      ),
      ...unnamed.map(({ name }) => cluster.join({ name })),
    ]);
    await history.until("all nodes but the foreign one to come up", () => up().length === 100, 120_000);
    requestsOfBurst = countRequests(fake);
  });
  afterAll(async () => {
    await ccm?.end("SIGKILL");
    await history?.close();
    await cluster?.close();
    await fake?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  async function startRun(): Promise<void> {
    await writeFile(join(folder, "token"), `${TOKEN}\n`);
    const cloud = { vpc: VPC, dropletTag: TAG, tokenFile: join(folder, "token"), clusterID: "blue" };
    await writeFile(join(folder, "cloud.yaml"), JSON.stringify(cloud));
    const flags = ["--cloud-provider", "digitalocean", "--cloud-config", join(folder, "cloud.yaml")];
    flags.push("--controllers", "*,service-lb-controller");
    flags.push(...(await buildIdentityFlags(plane)), "--port", "0");
    ccm = startProgram(["run", ...flags], { DO_OVERRIDE_URL: fake.url, REGION, DO_ACCESS_TOKEN: undefined });
    await ccm.line("Listed");
  }

  function up(): readonly NodeRecord[] {
    return [...history.records.values()].filter(({ schedulableAt }) => schedulableAt !== undefined);
  }

  it("gives every node the identity, labels and addresses of its droplet", async () => {
    for (const { id, name, networks } of [...identified, ...unnamed]) {
      const { metadata, spec, status } = await cluster.read(name);
      const [external, internal] = (networks?.v4 ?? []) as readonly { readonly ip_address: string }[];
      expect.soft(spec.providerID, name).toBe(`digitalocean://${id}`);
      expect.soft(status.addresses, name).toEqual([
        { type: "Hostname", address: name },
        { type: "InternalIP", address: internal?.ip_address },
        { type: "ExternalIP", address: external?.ip_address },
      ]);
      expect.soft(metadata.annotations?.[INSTANCE_ANNOTATION]).toBe(`digitalocean/${REGION}/${VPC}/${id}`);
      expect.soft(metadata.labels, name).toMatchObject({
        "node.kubernetes.io/instance-type": "s-4vcpu-8gb",
        "topology.kubernetes.io/region": REGION,
      });
      expect.soft(Object.keys(metadata.labels ?? {}).filter((key) => key.endsWith("/zone"))).toEqual([]);
    }
  });

  it("shows no node without taint and address, and writes twice to each", async () => {
    expect(await naked.writes()).toEqual([]);
    expect(up().filter((record) => record.naked)).toEqual([]);
    expect(history.hole).toBeUndefined();
    const writes = countWritesByNode(await plane.record());
    const names = [...identified, ...unnamed].map(({ name }) => name);
    expect(names.map((name) => [name, writes.get(name)])).toEqual(names.map((name) => [name, TWO_WRITES]));
  });

  it("leaves the node of another VPC unchanged", async () => {
    const { spec, status } = await cluster.read(foreign.name);
    expect(spec.taints?.map(({ key }) => key)).toContain(UNINITIALIZED_TAINT);
    expect(status.addresses).toEqual([{ type: "Hostname", address: foreign.name }]);
  });

  it("costs a few lists and not one read for each node", () => {
    const { list = 0, read = 0, gpus = 0 } = requestsOfBurst;
    expect(list).toBeGreaterThan(0);
    expect(list + read + gpus).toBeLessThanOrEqual(10);
  });

  it("continues with the next token when the file changes, and reveals neither", async () => {
    fake.tokens.clear();
    fake.tokens.add(NEXT_TOKEN);
    await writeFile(join(folder, "token"), NEXT_TOKEN);
    const late = fake.add();
    await cluster.join({ name: late.name });
    await history.until("the late node to come up", () => up().length === 101, 60_000);
    const said = JSON.stringify([ccm.lines, await plane.record()]);
    expect(said).toContain(late.name);
    expect([TOKEN, NEXT_TOKEN].filter((token) => said.includes(token))).toEqual([]);
  });

  it("makes a Service's load balancer, sends it to all nodes but the foreign one, and deletes it with the Service", {
    timeout: 120_000,
  }, async () => {
    const theirs = fake.addLoadBalancer({ name: "theirs", tags: ["k8s:green"] });
    const before = structuredClone(theirs);
    const admin = await cluster.transport("admin");
    const path = "/api/v1/namespaces/default/services";
    const metadata = { name: "web", annotations: { [`${PREFIX}size-unit`]: "2" } };
    const spec = { type: "LoadBalancer", ports: [{ name: "http", port: 80 }] };
    await askForJson(admin, { method: "POST", path, body: { metadata, spec } });
    const read = async (): Promise<Service> =>
      Service.parse(await askForJson(admin, { method: "GET", path: `${path}/web` }));
    const until = { timeout: 60_000, interval: 500 };
    await vi.waitFor(async () => expect((await read()).status?.loadBalancer?.ingress).toHaveLength(1), until);
    const [made, ...others] = [...fake.loadBalancers.values()].filter(({ id }) => id !== theirs.id);
    const nodes = up().map(({ name }) => name);
    const wanted = [...fake.droplets.values()].filter(({ name }) => nodes.includes(name)).map(({ id }) => id);
    expect(others).toEqual([]);
    expect(made).toMatchObject({ size_unit: 2, type: "REGIONAL_NETWORK" });
    expect(made?.tags.toSorted()).toEqual(["k8s-service-name:default:web", "k8s:blue"]);
    expect(made?.droplet_ids.toSorted()).toEqual(wanted.toSorted());
    const { metadata: shown, status } = await read();
    expect(status?.loadBalancer?.ingress).toEqual([{ ip: made?.ip, ipMode: "VIP" }]);
    expect(shown.annotations).toMatchObject({
      "kubernetes.digitalocean.com/load-balancer-id": made?.id,
      [`${PREFIX}type`]: "REGIONAL_NETWORK",
    });

    const patch = [{ op: "add", path: "/spec/ports/-", value: { name: "https", port: 443 } }];
    const contentType = "application/json-patch+json";
    await askForJson(admin, { method: "PATCH", path: `${path}/web`, body: patch, contentType });
    const ports = () =>
      fake.loadBalancers.get(made?.id ?? "")?.forwarding_rules.map((rule) => rule.entry_port);
    await vi.waitFor(() => expect(ports()).toEqual([80, 443]), until);

    await askForJson(admin, { method: "DELETE", path: `${path}/web` });
    await vi.waitFor(() => expect([...fake.loadBalancers.values()]).toEqual([before]), until);
    await vi.waitFor(async () => {
      const list = await askForJson(admin, { method: "GET", path });
      expect(JSON.stringify(list)).not.toContain('"web"');
    }, until);
  });
});

const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";

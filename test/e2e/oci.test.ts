import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPARTMENT_ANNOTATION, FAULT_DOMAIN_LABEL } from "#clouds/oci/config.ts";
import { INSTANCE_ANNOTATION, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { API_KEY, COMPARTMENT, TENANCY, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance } from "#test/clouds/oci/fake/instances.ts";
import { type FakeOci, startFakeOci } from "#test/clouds/oci/fake/server.ts";
import { buildWrittenConfig, countRequests } from "#test/clouds/oci/world.ts";
import { waitUntil } from "#test/e2e/stage.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TIMEOUT_MS = 240_000;

describe("a hundred nodes of Oracle Cloud on the embedded API server", () => {
  play((folder) => startEmbeddedControlPlane({ folder }));
});

describeWithPart("control-plane", "a hundred nodes of Oracle Cloud on a real API server", (binaries) => {
  play((folder) => startKubeApiserver({ folder, binaries }));
});

function play(start: (folder: string) => Promise<ControlPlane>): void {
  let folder: string;
  let fake: FakeOci;
  let cluster: ClusterUnderTest;
  let running: Running;
  let admin: Transport;
  let instances: readonly FakeInstance[];
  let foreign: FakeInstance;
  let burst: Readonly<Record<string, number>>;

  const nodes = async (): Promise<readonly Node[]> =>
    JSON.parse((await admin.send({ method: "GET", path: "/api/v1/nodes" })).body).items;
  const waiting = async (): Promise<readonly Node[]> =>
    (await nodes()).filter(({ spec }) => spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "oci-"));
    fake = await startFakeOci();
    cluster = await startCluster(start);
    admin = await cluster.transport("admin");
    await withState(admin);
    instances = Array.from({ length: 100 }, (_, index) =>
      fake.compute.add({ vnic: { publicIp: `203.0.113.${index}` } }),
    );
    const elsewhere = fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.other" });
    foreign = fake.compute.add({ displayName: "foreign", vnic: { subnetId: elsewhere.id } });
    await writeFile(join(folder, "cloud-provider.yaml"), stockFile(fake.url));
    const flags = ["--cloud-provider", "oci", "--cloud-config", join(folder, "cloud-provider.yaml")];
    flags.push(...(await buildIdentityFlags(cluster.plane)), "--port", "0", "--node-monitor-period", "1s");
    running = startProgram(["run", ...flags], {});
    await running.line("Listed");
    await Promise.all([
      ...[...instances.slice(0, 60), foreign].map(({ id, displayName: name }) =>
        cluster.join({ name, providerID: id }),
      ),
      ...instances.slice(60).map(({ displayName: name }) => cluster.join({ name })),
    ]);
    await waitUntil(
      "all nodes but the foreign one to come up",
      async () => (await waiting()).length === 1,
      TIMEOUT_MS,
    );
    burst = countRequests(fake);
  });
  afterAll(async () => {
    await running?.end("SIGKILL");
    await cluster?.close();
    await fake?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  test("each has the identity, labels, annotation and addresses of its instance", async () => {
    for (const [index, instance] of instances.entries()) {
      const { id, displayName: name } = instance;
      const { metadata, spec, status } = await cluster.read(name);
      // Its kubelet's fields stay unchanged.
      expect.soft(spec.providerID, name).toBe(index < 60 ? id : `oci://${id}`);
      expect.soft(status.addresses, name).toEqual([
        { type: "InternalIP", address: fake.compute.vnicOf(instance).privateIp },
        { type: "ExternalIP", address: `203.0.113.${index}` },
        { type: "Hostname", address: name },
      ]);
      expect.soft(metadata.annotations).toMatchObject({
        [INSTANCE_ANNOTATION]: `${TENANCY}/${VCN}/${id}`,
        [COMPARTMENT_ANNOTATION]: COMPARTMENT,
      });
      expect.soft(metadata.labels, name).toMatchObject({
        "node.kubernetes.io/instance-type": "VM.Standard.E5.Flex",
        "topology.kubernetes.io/region": "phx",
        "topology.kubernetes.io/zone": "PHX-AD-1",
        [FAULT_DOMAIN_LABEL]: "FAULT-DOMAIN-2",
      });
    }
  });

  test("the node of another VCN waits, untouched", async () => {
    const { spec, metadata } = await cluster.read(foreign.displayName);
    expect(spec.taints?.map(({ key }) => key)).toContain(UNINITIALIZED_TAINT);
    expect(Object.keys(metadata.annotations ?? {})).not.toContain(COMPARTMENT_ANNOTATION);
  });

  test("they cost lists and not one read for each of them", () => {
    const { "vnics/id": vnics = 0, "instances/id": reads = 0 } = burst;
    expect(burst["instances"]).toBeGreaterThan(0);
    expect(vnics + reads).toBeLessThan(100);
  });

  test("twenty with terminated instances are deleted, and no other one", async () => {
    const gone = instances.slice(0, 20);
    for (const instance of gone) fake.compute.terminate(instance);
    const left = [...instances.slice(20), foreign].map(({ displayName }) => displayName);
    await waitUntil("the deletions", async () => (await nodes()).length === left.length, TIMEOUT_MS);
    expect((await nodes()).map(({ metadata }) => metadata.name).toSorted()).toEqual(left.toSorted());
  });

  test("the key appears nowhere; ineffective settings are reported once", async () => {
    const said = JSON.stringify([running.lines, await cluster.plane.record()]);
    const secrets = API_KEY.pem.split("\n").filter((line) => line.length > 30 && !line.startsWith("-----"));
    expect(secrets.filter((line) => said.includes(line))).toEqual([]);
    expect(said.split("without effect here").length - 1).toBe(1);
  });
}

/** Returns the stock controller's file, with the key in it. */
function stockFile(url: string): string {
  const { auth, provider: _, ...others } = buildWrittenConfig({}, url);
  const { keyFile: __, ...identity } = auth;
  const key = API_KEY.pem.trim().replace(/^/gm, "    ");
  const lines = Object.entries(identity).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`);
  const rest = Object.entries({ ...others, metrics: { prefix: "ccm" } });
  const yaml = rest.map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return ["auth:", ...lines, "  key: |", key, ...yaml, ""].join("\n");
}

/**
 * Creates the state object, which the manifests bring to a real API server; the embedded one applies none.
 */
async function withState(admin: Transport): Promise<void> {
  const { namespace, name } = STATE.at;
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name },
    data: { [STATE_KEY]: '{"version":1}' },
  };
  await admin.send({ method: "POST", path: `/api/v1/namespaces/${namespace}/configmaps`, body });
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { identityFlags } from "#emulators/harness/identity-flags.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import type { Transport } from "#kube/client/transport.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import {
  CLUSTER,
  type FakeMachine,
  type FakeManagement,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";
import { until } from "#test/e2e/stage.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const TIMEOUT_MS = 240_000;

describe("a hundred nodes of RKE2 on the embedded API server", () => {
  play((folder) => startEmbeddedControlPlane({ folder }));
});

describeWithPart("control-plane", "a hundred nodes of RKE2 on a real API server", (binaries) => {
  play((folder) => startKubeApiserver({ folder, binaries }));
});

function play(start: (folder: string) => Promise<ControlPlane>): void {
  let folder: string;
  let fake: FakeManagement;
  let cluster: ClusterUnderTest;
  let running: Running;
  let machines: ReadonlyMap<string, FakeMachine>;

  const byHand = "registered-by-hand";
  let admin: Transport;
  const nodes = async (): Promise<readonly Node[]> =>
    JSON.parse((await admin.send({ method: "GET", path: "/api/v1/nodes" })).body).items;
  const waiting = async (): Promise<readonly Node[]> =>
    (await nodes()).filter(({ spec }) => spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "rancher-"));
    fake = await startFakeManagement();
    cluster = await startCluster(start);
    admin = await cluster.transport("admin");
    await withState(admin);
    await writeFile(join(folder, "token"), `${TOKEN}\n`);
    const rancher = { cluster: CLUSTER, tokenFile: join(folder, "token") };
    await writeFile(join(folder, "cloud.yaml"), JSON.stringify({ existence: "rancher", rancher }));
    const flags = ["--cloud-provider", "rke2", "--cloud-config", join(folder, "cloud.yaml")];
    flags.push(...(await identityFlags(cluster.plane)), "--port", "0", "--node-monitor-period", "1s");
    running = startProgram(["run", ...flags], { RANCHER_URL: fake.url });
    await running.line("Listed");
    machines = new Map(
      Array.from({ length: 100 }, (_, index) => [`node-${index}`, fake.add({ node: null })]),
    );
    await Promise.all([
      ...[...machines].map(([name, { metadata }], index) =>
        cluster.join({
          name,
          nodeIP: `10.2.0.${index}`,
          labels: { "rke.cattle.io/machine": metadata.uid, "topology.kubernetes.io/zone": "fra-1" },
        }),
      ),
      cluster.join({ name: byHand, nodeIP: "10.2.1.1" }),
    ]);
    await until("all nodes to come up", async () => (await waiting()).length === 0, TIMEOUT_MS);
  });
  afterAll(async () => {
    await running?.end("SIGKILL");
    await cluster?.close();
    await fake?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  test("each has the identity of its Machine, and keeps its own addresses", async () => {
    for (const [index, [name, { metadata: machine }]] of [...machines].entries()) {
      const { metadata, spec, status } = await cluster.read(name);
      expect.soft(spec.providerID).toBe(`rke2://${name}`);
      expect
        .soft(metadata.annotations?.[INSTANCE_ANNOTATION])
        .toBe(`rancher/fleet-default/${CLUSTER}/${machine.uid}/${name}`);
      expect.soft(status.addresses).toEqual([
        { type: "InternalIP", address: `10.2.0.${index}` },
        { type: "Hostname", address: name },
      ]);
      expect.soft(metadata.labels).toMatchObject({
        "node.kubernetes.io/instance-type": "rke2",
        "failure-domain.beta.kubernetes.io/zone": "fra-1",
      });
    }
  });

  test("twenty whose Machines are deleted are gone, and no other one", async () => {
    const gone = [...machines].slice(0, 20);
    const left = [...machines.keys(), byHand].filter((name) => !gone.some(([each]) => each === name));
    for (const [, machine] of gone) fake.remove(machine);
    await until("the deletions", async () => (await nodes()).length === left.length, TIMEOUT_MS);
    expect((await nodes()).map(({ metadata }) => metadata.name).toSorted()).toEqual(left.toSorted());
  });

  test("lists go on, and the token stands nowhere", async () => {
    const lists = fake.requests.filter(({ path }) => path.endsWith("/machines")).length;
    expect(fake.requests).toHaveLength(
      fake.requests.filter(({ path }) => path.endsWith("/cluster.x-k8s.io")).length + lists,
    );
    expect(JSON.stringify([running.lines, await cluster.plane.record()])).not.toContain(TOKEN);
  });
}

/** The manifests bring it to a real API server; the embedded one applies none. */
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

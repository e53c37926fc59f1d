import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { INSTANCE_ANNOTATION, LABEL_PAIRS } from "#core/contracts.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { CONTROL_PLANE_USERS, OUR_USERS } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import type { JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import {
  ADMISSION_POLICIES,
  type KubeApiserver,
  OUR_MANIFESTS,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, type NodeRecord, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import {
  buildAddresses,
  CREDENTIALS,
  createEc2Client,
  type Machine,
  makeNetwork,
  type Network,
  REGION,
} from "#test/e2e/moto-network.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithBoth } from "#test/setup/parts.ts";
import { type NakedNodeWitness, witnessNakedNodes } from "#test/witness/naked-nodes.ts";
import { countWritesByNode, TWO_WRITES } from "#test/witness/requests.ts";

/** The address of the machine that is launched after its node has registered. */
const LATE_IPV4 = "10.1.7.7";
const LATE_NAME = `ip-${LATE_IPV4.replaceAll(".", "-")}.${REGION}.compute.internal`;
const RIVAL_ROUNDS = 8;

describeWithBoth("a hundred nodes on a real API server and moto", (binaries, program) => {
  let folder: string;
  let moto: Moto;
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let naked: NakedNodeWitness;
  let history: NodeHistory;
  let ccm: Running;
  let network: Network;
  let usual: readonly Machine[];
  let unnamed: readonly Machine[];
  let dual: readonly Machine[];
  let contested: readonly Machine[];
  let remade: readonly Machine[];
  let foreign: Machine;
  let late: Machine;
  let uidsBefore: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "nodes-"));
    moto = await startMoto(program);
    cluster = await startCluster(async (planeFolder) => {
      // With the optional policy, which rejects everything outside the functions' work.
      const manifests = [...OUR_MANIFESTS, ADMISSION_POLICIES];
      plane = await startKubeApiserver({ folder: planeFolder, binaries, manifests });
      return plane;
    });
    const admin = await cluster.transport("admin");
    naked = await witnessNakedNodes(plane, admin);
    history = await recordNodeHistory(admin);
    await launch();
    await startRun();
    await registerAll();
    await vi.waitFor(() => expect(ccm.lines.some(isWaitingForLate)).toBe(true), { timeout: 60_000 });
    [late] = (await network.launch(1, { ipv4: LATE_IPV4 })) as [Machine];
    await history.until("all nodes but the foreign one to come up", allUp, 120_000);
  });
  afterAll(async () => {
    await ccm?.end("SIGKILL");
    await history?.close();
    await cluster?.close();
    await moto?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  async function launch(): Promise<void> {
    const ec2 = createEc2Client(moto.url);
    const elsewhere = await makeNetwork(ec2, 2);
    network = await makeNetwork(ec2, 1);
    [usual, unnamed, dual, contested, remade] = [
      await network.launch(58),
      await network.launch(20),
      await network.launch(10, { ipv6: true }),
      await network.launch(5),
      await network.launch(5),
    ];
    const [stranger] = await elsewhere.launch(1);
    if (stranger === undefined) throw new Error("moto launched nothing");
    foreign = stranger;
    ec2.destroy();
  }

  async function startRun(): Promise<void> {
    const cloud = { region: REGION, vpc: network.vpc, clusterTag: "e2e", nodeIPFamilies: ["ipv4", "ipv6"] };
    await writeFile(join(folder, "cloud.yaml"), JSON.stringify(cloud));
    const flags = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml"), "--port", "0"];
    flags.push(...(await buildIdentityFlags(plane)));
    const environment = { ...CREDENTIALS, AWS_ENDPOINT_URL_EC2: moto.url, AWS_ENDPOINT_URL_STS: moto.url };
    ccm = startProgram(["run", ...flags], environment);
    await ccm.line("Listed");
  }

  /** All at once, in an order in which neighbours are of different kinds. */
  async function registerAll(): Promise<void> {
    const nodes: readonly JoiningNodeOptions[] = [
      ...unnamed.map(({ name }) => ({ name })),
      ...[...usual, ...dual, foreign].map(({ name, providerID }) => ({ name, providerID })),
      { name: LATE_NAME },
    ];
    const mixed = nodes.toSorted((a, b) => a.name.slice(-24).localeCompare(b.name.slice(-24)));
    await Promise.all([
      ...mixed.map((node) => cluster.join(node)),
      ...contested.map(joinWithRival),
      remakeAll(),
    ]);
  }

  /** Another controller adds taints at the front and labels, from the first moment on. */
  async function joinWithRival({ name, providerID }: Machine): Promise<void> {
    await cluster.join({ name, providerID });
    for (let round = 1; round <= RIVAL_ROUNDS; round += 1) {
      const taint = { key: `example.com/rival-${round}`, effect: "PreferNoSchedule" };
      await cluster
        .patch(name, [
          { op: "add", path: "/spec/taints/0", value: taint },
          { op: "add", path: `/metadata/labels/rival-${round}`, value: "here" },
        ])
        // Once the last taint is gone there is no list to add to.
        .catch(() =>
          cluster.patch(name, [
            { op: "add", path: "/spec/taints", value: [taint] },
            { op: "add", path: `/metadata/labels/rival-${round}`, value: "here" },
          ]),
        );
    }
  }

  /** Deletes nodes during their initialization, and creates them again under their names. */
  async function remakeAll(): Promise<void> {
    uidsBefore = await Promise.all(
      remade.map(async ({ name, providerID }, index) => {
        const { metadata } = await cluster.join({ name, providerID });
        // The first is deleted at once, the others a version or two of the cluster later.
        for (let reads = 0; reads < index; reads += 1) await cluster.read(name);
        await cluster.remove(name);
        await cluster.join({ name, providerID });
        return metadata.uid;
      }),
    );
  }

  function allUp(): boolean {
    const up = living().filter(({ latest }) => !isUninitialized(latest));
    return living().length === 100 && up.length === 99;
  }

  function living(): readonly NodeRecord[] {
    return [...history.records.values()].filter(({ deleted }) => !deleted);
  }

  it("gives every node the identity and addresses of its instance", async () => {
    for (const machine of [...usual, ...unnamed, ...dual, ...contested, ...remade, late]) {
      const { metadata, spec, status } = await cluster.read(machine.name);
      expect.soft(spec.providerID, machine.name).toBe(machine.providerID);
      expect.soft(status.addresses, machine.name).toEqual(buildAddresses(machine));
      expect
        .soft(metadata.annotations?.[INSTANCE_ANNOTATION])
        .toBe(`123456789012/${network.vpc}/${machine.id}`);
      expect.soft(metadata.labels, machine.name).toMatchObject(labelsOf(machine));
    }
  });

  it("shows no node without taint and address, at any version", async () => {
    expect(await naked.writes()).toEqual([]);
    expect([...history.records.values()].filter((record) => record.naked)).toEqual([]);
    expect(history.hole).toBeUndefined();
  });

  it("writes twice to a node, and not at all once it is up", async () => {
    const writes = countWritesByNode(await plane.record());
    const undisturbed = [...usual, ...unnamed, ...dual];
    expect(undisturbed.map(({ name }) => [name, writes.get(name)])).toEqual(
      undisturbed.map(({ name }) => [name, TWO_WRITES]),
    );
  });

  it("leaves the node of another network unchanged, and gives the reason to the operator, but not to the cluster", async () => {
    const node = await cluster.read(foreign.name);
    expect(isUninitialized(node)).toBe(true);
    expect(node.status.addresses).toEqual([{ type: "Hostname", address: foreign.name }]);
    expect(countWritesByNode(await plane.record()).get(foreign.name)).toBeUndefined();
    const said = ccm.lines.find((line) => line["event"] === "Object" && line["name"] === foreign.name);
    expect(said?.["because"]).toMatchObject({
      code: "Foreign",
      message: expect.stringContaining(network.vpc),
    });
    expect(JSON.stringify(await cluster.events(node))).not.toContain("vpc-");
  });

  it("loses nothing of another controller's concurrent writes", async () => {
    for (const { name } of contested) {
      const { metadata, spec } = await cluster.read(name);
      const rounds = Array.from({ length: RIVAL_ROUNDS }, (_, index) => index + 1);
      const keys = spec.taints?.map(({ key }) => key) ?? [];
      expect(keys).toEqual(expect.arrayContaining(rounds.map((round) => `example.com/rival-${round}`)));
      for (const round of rounds) expect(metadata.labels?.[`rival-${round}`]).toBe("here");
    }
  });

  it("brings up a node that was created again under its name", async () => {
    const now = await Promise.all(remade.map(({ name }) => cluster.read(name)));
    expect(now.filter(({ metadata }) => uidsBefore.includes(metadata.uid))).toEqual([]);
    expect(now.filter(isUninitialized)).toEqual([]);
  });

  it("records an Event for each node that came up", async () => {
    const node = await cluster.read(late.name);
    const events = await cluster.events(node);
    expect(events.filter(({ reason }) => reason === "Synced")).toHaveLength(1);
  });

  it("is never refused a right and never throttled", async () => {
    const records = (await plane.record()).filter(({ user }) => OUR_USERS.includes(user));
    expect(records.map(({ user }) => user)).toEqual(
      expect.arrayContaining([CONTROL_PLANE_USERS.relay.name, CONTROL_PLANE_USERS.node.name]),
    );
    expect(records.filter(({ code }) => code === 401 || code === 403 || code === 429)).toEqual([]);
  });
});

/** Returns whether a line is about the node whose machine does not exist yet. */
function isWaitingForLate(line: Readonly<Record<string, unknown>>): boolean {
  return line["event"] === "Object" && line["name"] === LATE_NAME && line["outcome"] === "retry";
}

function labelsOf({ zone }: Machine): Readonly<Record<string, string>> {
  const values = ["m7i.large", zone, REGION];
  return Object.fromEntries(
    LABEL_PAIRS.flatMap(({ beta, stable }, index) => [
      [beta, values[index] ?? ""],
      [stable, values[index] ?? ""],
    ]),
  );
}

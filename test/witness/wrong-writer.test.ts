import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RequestRecord } from "#emulators/harness/control-plane.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, type NodeRecord, recordNodeHistory } from "#emulators/harness/node-history.ts";
import type { ApiRequest } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { type NakedNodeWitness, witnessNakedNodes } from "#test/witness/naked-nodes.ts";
import { countWritesByNode, TWO_WRITES } from "#test/witness/requests.ts";

const UNTAINT = [{ op: "remove", path: "/spec/taints/0" }];
const ADDRESS = [
  { op: "add", path: "/status/addresses", value: [{ type: "InternalIP", address: "10.0.0.4" }] },
];
const NO_ADDRESS = [{ op: "remove", path: "/status/addresses" }];

/** Correct and wrong writers of one node, and the expected result of each witness. */
const WRITERS: readonly {
  readonly name: string;
  readonly writes: readonly (readonly [path: string, patch: readonly unknown[]])[];
  readonly naked: readonly string[];
  readonly twoWrites: boolean;
  /** Includes the version of its creation; a write without a change creates none. */
  readonly versions: number;
}[] = [
  {
    name: "addresses first, then the taint",
    writes: [
      ["/status", ADDRESS],
      ["", UNTAINT],
    ],
    naked: [],
    twoWrites: true,
    versions: 3,
  },
  {
    name: "the taint first",
    writes: [
      ["", UNTAINT],
      ["/status", ADDRESS],
    ],
    naked: ["nodes"],
    twoWrites: true,
    versions: 3,
  },
  {
    name: "addresses taken away afterwards",
    writes: [
      ["/status", ADDRESS],
      ["", UNTAINT],
      ["/status", NO_ADDRESS],
    ],
    naked: ["nodes/status"],
    twoWrites: false,
    versions: 4,
  },
  {
    name: "the same written twice",
    writes: [
      ["/status", ADDRESS],
      ["/status", ADDRESS],
      ["", UNTAINT],
    ],
    naked: [],
    twoWrites: false,
    versions: 3,
  },
];

describeWithPart("control-plane", "the witnesses", (binaries) => {
  let plane: KubeApiserver;
  let cluster: ClusterUnderTest;
  let history: NodeHistory;
  /** The history's watches wait for this promise. */
  let heard: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    cluster = await startCluster(async (folder) => {
      plane = await startKubeApiserver({ folder, binaries });
      return plane;
    });
    const admin = await cluster.transport("admin");
    history = await recordNodeHistory({
      ...admin,
      stream: async (request) => {
        await heard;
        return admin.stream(request);
      },
    });
  });
  afterAll(async () => {
    await history?.close();
    await cluster?.close();
  });

  it.each(WRITERS)("count and remember $name", async ({ name, writes, naked, twoWrites, versions }) => {
    const node = await writeAll(name, writes);
    const counted = countWritesByNode(await plane.record()).get(node);
    expect(JSON.stringify(sorted(counted)) === JSON.stringify(sorted(TWO_WRITES))).toBe(twoWrites);
    expect(await lastVersionOf(node)).toMatchObject({ naked: naked.length > 0, versions });
  });

  it("count rejected requests too", async () => {
    await write("nowhere/status", ADDRESS);
    expect(countWritesByNode(await plane.record()).get("nowhere")).toEqual({ "nodes/status 404": 1 });
  });

  describe("in the API server", () => {
    let refused: NakedNodeWitness;
    beforeAll(async () => {
      refused = await witnessNakedNodes(plane, await cluster.transport("admin"));
    });

    it.each(WRITERS)("see $name", async ({ name, writes, naked }) => {
      const node = await writeAll(`${name} again`, writes);
      const seen = (await refused.writes()).filter((record) => record.name === node);
      expect(seen.map(targetOf)).toEqual(naked);
    });

    it("see a node that is created naked", async () => {
      const body = { apiVersion: "v1", kind: "Node", metadata: { name: "born-naked" } };
      const admin = await cluster.transport("admin");
      await admin.send({ method: "POST", path: "/api/v1/nodes", body });
      const seen = (await refused.writes()).filter((record) => record.name === "born-naked");
      expect(seen.map(({ verb }) => verb)).toEqual(["create"]);
    });
  });

  it("report missing versions", async () => {
    await unheard(async () => {
      await plane.stopServer("SIGKILL");
      await plane.startServer();
      await cluster.join({ name: "in-the-gap" });
      // A restarted server remembers no earlier events.
      await plane.stopServer("SIGKILL");
      await plane.startServer();
    });
    await expect.poll(() => history.hole, { timeout: 30_000 }).toMatch("too old resource version");
  });

  /** Creates a node named after its writer, and runs the writer. */
  async function writeAll(
    writer: string,
    writes: readonly (readonly [path: string, patch: readonly unknown[]])[],
  ): Promise<string> {
    const name = writer.replaceAll(/[^a-z]+/g, "-");
    await cluster.join({ name });
    for (const [path, patch] of writes) await write(`${name}${path}`, patch);
    return name;
  }

  async function write(path: string, body: readonly unknown[]): Promise<void> {
    const request: ApiRequest = { method: "PATCH", path: `/api/v1/nodes/${path}`, body };
    await cluster.functions.send({ ...request, contentType: "application/json-patch+json" });
  }

  /** Runs an action that ends the history's watch, which resumes only afterwards. */
  async function unheard(act: () => Promise<void>): Promise<void> {
    const gate = Promise.withResolvers<void>();
    heard = gate.promise;
    await act();
    gate.resolve();
  }

  /** The history arrives by watch, after the answers. */
  async function lastVersionOf(name: string): Promise<NodeRecord | undefined> {
    const { resourceVersion } = (await cluster.read(name)).metadata;
    const find = (): NodeRecord | undefined =>
      [...history.records.values()].find((record) => record.name === name);
    await history.until(
      `version ${resourceVersion} of ${name}`,
      () => find()?.latest.metadata.resourceVersion === resourceVersion,
      10_000,
    );
    return find();
  }
});

function targetOf({ resource, subresource }: RequestRecord): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function sorted(counts: Readonly<Record<string, number>> = {}): readonly unknown[] {
  return Object.entries(counts).sort();
}

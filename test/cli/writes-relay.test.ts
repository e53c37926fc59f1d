import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance, register } from "#test/cli/fake-stock.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import {
  buildTree,
  type OtlpReceiver,
  type Received,
  startOtlpReceiver,
} from "#test/tracing/otlp-receiver.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let history: NodeHistory;
let receiver: OtlpReceiver;
let program: Running | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "writes-relay-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await getConnectOptions(plane, "admin"));
  history = await recordNodeHistory(admin);
  receiver = await startOtlpReceiver();
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances: [1, 2, 3].map(getInstance) }));
  // Only the relay can sign in.
  await writeClustersFile(join(folder, "clusters.yaml"), {
    name: "private",
    server: plane.server,
    certificateAuthorityFile: plane.certificateAuthorityFile,
    signIn: { relay: { kind: "token-file", file: plane.tokenFile("relay") } },
    cloud: { provider: "memory", instancesFile: join(folder, "instances.json") },
    controllers: ["cloud-node-controller"],
    writes: "relay",
  });
});
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  await receiver.close();
  await history.close();
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

function start(...flags: readonly string[]): void {
  const file = `--clusters-file=${join(folder, "clusters.yaml")}`;
  program = startProgram(["run", file, "--port=0", ...flags], { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
}

const up = (count: number): Promise<void> =>
  waitUntilTrue(`${count} nodes to be initialized`, () => history.schedulable === count);

/** Returns the field managers, other than the administrator, and what they wrote. */
async function writers(): Promise<readonly string[]> {
  const records = await plane.record();
  const writes = records.filter(
    ({ verb, user }) => user !== "admin" && !["get", "list", "watch"].includes(verb),
  );
  return [...new Set(writes.map(({ user, resource }) => `${user} ${resource}`))].sort();
}

/** Returns the trace of the event that initialized a node, once it is complete. */
async function traced(): Promise<{ readonly root: Received; readonly tree: unknown }> {
  const roots = (): readonly Received[] =>
    receiver.spans.filter(
      ({ name, parentSpanId, spanId }) =>
        name === "write" &&
        parentSpanId === undefined &&
        receiver.spans.some((each) => each.parentSpanId === spanId && each.name === "PATCH nodes/status"),
    );
  await waitUntilTrue("the trace of a node", () => roots().length > 0);
  const [root] = roots();
  if (root === undefined) throw new Error("there is no trace");
  return { root, tree: buildTree(receiver.spans, root) };
}

const PATCHES = ["PATCH nodes", "PATCH nodes/status"];
const AS_THE_FUNCTION = ["serverless-ccm-node events", "serverless-ccm-node nodes"];

describe("run, for a cluster whose relay writes", () => {
  test.each([
    { given: "in this thread", flags: ["--workers=0"] },
    { given: "in a worker", flags: ["--workers=1"] },
  ])("initializes nodes $given, with the relay's sign-in only, and traces the writes", async ({ flags }) => {
    await register(admin, 1);
    start(...flags);
    await up(1);
    await register(admin, 2);
    await up(2);
    const { root, tree } = await traced();
    expect(tree).toEqual({ write: expect.arrayContaining([{ deliver: ["function"] }, ...PATCHES]) });
    expect(root.attributes).toMatchObject({
      "k8s.cluster.name": "private",
      "serverless_ccm.controller": "cloud-node-controller",
    });
    expect(await program?.end("SIGTERM")).toBe(0);
    expect((await writers()).filter((each) => each.startsWith("serverless-ccm-node"))).toEqual(
      AS_THE_FUNCTION,
    );
    expect([...history.records.values()].filter(({ naked }) => naked)).toEqual([]);
    expect(receiver.faults).toEqual([]);
  });
});

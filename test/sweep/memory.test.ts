import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("sweep-program.ts", import.meta.url));

const NODES = 5_000;
const NODE_BYTES = 15_000;

/** What the deployed sweep has in all is 256 MiB. */
const MAX_HEAP_MEBIBYTES = 128;
const MAX_RSS_MEBIBYTES = 256;

const Said = z.object({
  mode: z.string(),
  listed: z.int(),
  reported: z.int(),
  because: z.unknown().optional(),
  peakRss: z.int(),
});

let folder = "";
let plane: EmbeddedControlPlane;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sweep-memory-"));
  plane = await startEmbeddedControlPlane({ folder });
});
afterEach(async () => {
  await plane.close();
  await rm(folder, { recursive: true });
});

test("5,000 nodes of 15 KB that all wait are swept by a process of a function's size", {
  timeout: 180_000,
}, async () => {
  const admin = connect(await getConnectOptions(plane, "admin"));
  for (let from = 0; from < NODES; from += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        admin.send({ method: "POST", path: "/api/v1/nodes", body: nodeOf(from + index) }),
      ),
    );
  await admin.close();
  const { server, certificateAuthorityFile } = plane;
  const args = [`--max-old-space-size=${MAX_HEAP_MEBIBYTES}`, PROGRAM];
  const { stdout } = await run(process.execPath, [
    ...args,
    server,
    certificateAuthorityFile,
    plane.tokenFile("admin"),
  ]);
  const said = Said.parse(JSON.parse(stdout));
  expect(said).toMatchObject({ mode: "full", listed: NODES, reported: NODES });
  expect(said.peakRss / 2 ** 20).toBeLessThan(MAX_RSS_MEBIBYTES);
});

/** As a kubelet's of a node with fifty images. */
function nodeOf(index: number): object {
  const names = Array.from({ length: 50 }, (_, image) => ({
    names: [
      `registry.example.com/team-${image}/image@sha256:${"0123456789abcdef".repeat(4)}`,
      "x".repeat(130),
    ],
    sizeBytes: 100_000_000 + image,
  }));
  const images = [
    ...names,
    { names: ["p".repeat(Math.max(1, NODE_BYTES - JSON.stringify(names).length - 500))] },
  ];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: `node-${String(index).padStart(5, "0")}` },
    spec: { taints: [{ key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" }] },
    status: { images, conditions: [{ type: "Ready", status: "True", reason: "KubeletReady" }] },
  };
}

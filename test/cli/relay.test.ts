import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { Event } from "#core/event.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";
import { type Running, runProgram, startProgram } from "#test/cli/program.ts";
import { registerNode } from "#test/cli/register-node.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let folder: string;
let file: string;
let plane: EmbeddedControlPlane;
let program: Running | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "relay-"));
  file = join(folder, "clusters.yaml");
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
});
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  await plane.close();
  await rm(folder, { recursive: true });
});

const flags = () => ["relay", `--clusters-file=${file}`, "--function-arn=x", "--port=0"];
const AWS = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "x",
  AWS_SECRET_ACCESS_KEY: "x",
  AWS_ENDPOINT_URL_LAMBDA: "http://127.0.0.1:1",
};

const entry = (name: string, difference: Partial<ClusterEntry> = {}): ClusterEntry =>
  buildClusterEntry(plane, {
    name,
    cloud: { provider: "memory", instancesFile: "none.json" },
    // One function has one ARN.
    controllers: ["cloud-node-controller"],
    ...difference,
  });
const signedInBy = (signIn: NonNullable<ClusterEntry["signIn"]>["relay"]): Partial<ClusterEntry> => ({
  signIn: { relay: signIn },
});
const absent = (): Partial<ClusterEntry> => signedInBy({ kind: "token-file", file: join(folder, "absent") });

async function isReady(name: string): Promise<boolean> {
  return (await page(`/readyz/clusters/${name}`))[0] === 200;
}

async function page(path: string): Promise<[number, string]> {
  const { url } = (await program?.line("Serving")) ?? {};
  const answer = await fetch(`${url}${path}`);
  return [answer.status, await answer.text()];
}

test("a relay whose file is not a list ends with 2, and reports its flags' faults as well", async () => {
  await writeFile(file, "blue");
  const { code, stderr } = await runProgram([...flags(), "--kubeconfig=k", "--controllers=*"], "", AWS);
  expect(code).toBe(2);
  expect(stderr.split("\n").map((line) => line.trim().replace(folder, ""))).toEqual([
    "serverless-ccm: 3 faults in the configuration:",
    expect.stringMatching(
      /^--kubeconfig: describes one cluster, and cannot be combined with --clusters-file/,
    ),
    expect.stringMatching(/^--controllers: describes one cluster/),
    "/clusters.yaml:1:1: give a mapping of keys to values",
    "",
  ]);
});

test("a relay without a usable cluster reports that and waits for a repair", async () => {
  await writeClustersFile(file, entry("red", { server: "http://x" }), entry("blue", absent()));
  program = startProgram(flags(), AWS);
  expect(await program.line("NoClusterUsable")).toMatchObject({ level: "error", file });
  expect(await page("/readyz/clusters/red")).toEqual([503, expect.stringContaining("NotConfigured: ")]);
  await waitUntilTrue("blue's fault to be said", async () => {
    const [status, text] = await page("/readyz/clusters/blue");
    return status === 503 && text.includes("FileUnreadable");
  });
  await writeClustersFile(file, entry("red"), entry("blue"));
  await waitUntilTrue("both to be ready", async () => (await isReady("red")) && isReady("blue"));
  expect(await program.end("SIGTERM")).toBe(0);
});

describe("a relay", () => {
  test("serves the usable clusters, reports why it does not serve the others, and follows the file", async () => {
    await writeClustersFile(
      file,
      entry("blue"),
      entry("red", { server: "http://x" }),
      entry("grey", absent()),
    );
    program = startProgram(flags(), AWS);
    await waitUntilTrue("blue to be ready", () => isReady("blue"));
    const lines = (await readFile(file, "utf8")).split("\n");
    const line = 1 + lines.findIndex((each) => each.includes("http://x"));
    expect(await page("/readyz/clusters/red")).toEqual([
      503,
      expect.stringContaining(
        `NotConfigured: ${file}:${line}:7: cluster red: server: "http://x" cannot be used`,
      ),
    ]);
    expect((await page("/metrics"))[1]).toContain('serverless_ccm_cluster_misconfigured{cluster="red"} 1');
    await waitUntilTrue("grey's fault to be said", async () => {
      const [status, text] = await page("/readyz/clusters/grey");
      return status === 503 && text.includes("FileUnreadable");
    });
    await waitUntilTrue("the functions to be out of reach", async () => (await page("/readyz"))[0] === 503);
    expect(await page("/readyz")).toEqual([
      503,
      expect.stringContaining("the function platform cannot be reached: Unreachable: function x"),
    ]);

    await writeFile(join(folder, "absent"), await readFile(plane.tokenFile("relay"), "utf8"));
    await writeClustersFile(file, entry("red"), entry("grey", absent()));
    await waitUntilTrue("red and grey to be ready", async () => (await isReady("red")) && isReady("grey"));
    await waitUntilTrue("blue to be gone", async () => (await page("/readyz/clusters/blue"))[0] === 404);
    expect(await program.end("SIGTERM")).toBe(0);
  });

  test("ends with 0 while a sign-in is being retried", async () => {
    await writeClustersFile(file, entry("blue"), entry("grey", absent()));
    program = startProgram(flags(), AWS);
    await program.line("SignInUnusable");
    await program.line("Serving");
    expect(await program.end("SIGTERM")).toBe(0);
  });

  test("reads the file again at SIGHUP, reports if it is unchanged, and does not end", async () => {
    await writeClustersFile(file, entry("blue"));
    program = startProgram(flags(), AWS);
    await waitUntilTrue("blue to be ready", () => isReady("blue"));
    const read = () => program?.lines.filter(({ event }) => event === "ClustersRead").length;
    expect(read()).toBe(1);
    program.child.kill("SIGHUP");
    expect(await program.line("Rereading")).toMatchObject({ signal: "SIGHUP", file });
    await waitUntilTrue("the file to be read again", () => read() === 2);
    expect(await isReady("blue")).toBe(true);
    expect(await program.end("SIGTERM")).toBe(0);
  });

  test("reports at the start that the platform has no such function, and when it has", async () => {
    const functions: Record<string, LambdaHandler> = {};
    const lambda = await startLambda({ functions, timeoutMs: 1_000, concurrency: 1 });
    try {
      await writeClustersFile(file, entry("blue"));
      program = startProgram(flags(), { ...AWS, AWS_ENDPOINT_URL_LAMBDA: lambda.url });
      expect(await program.line("PlatformUnreachable")).toMatchObject({
        codes: ["FunctionMissing"],
        message: expect.stringContaining("function x: ResourceNotFoundException: Function not found: x"),
      });
      expect((await page("/metrics"))[1]).toContain("\nserverless_ccm_platform_reachable 0\n");
      functions["x"] = async () => ({});
      await program.line("PlatformReady");
      expect((await page("/metrics"))[1]).toContain("\nserverless_ccm_platform_reachable 1\n");
      expect([lambda.record(), await program.end("SIGTERM")]).toEqual([[], 0]);
    } finally {
      await lambda.close();
    }
  });
});

describe("a relay with --dry-run", () => {
  const events: Event[] = [];
  let lambda: Server;
  beforeEach(async () => {
    events.length = 0;
    lambda = createServer(async (request, response) => {
      const body: unknown = JSON.parse((await text(request)) || "null");
      if (request.headers["x-amz-invocation-type"] !== "DryRun") events.push(Event.parse(body));
      response.writeHead(503).end();
    });
    lambda.listen(0, "127.0.0.1");
    await once(lambda, "listening");
  });
  afterEach(() => void lambda.close());

  const withLambda = () => {
    const { port } = lambda.address() as AddressInfo;
    return { ...AWS, AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}` };
  };

  test.each<[string, boolean]>([
    ["sends dry runs alone, for clusters of the start and for those that come and change", true],
    ["is needed for that: without it events are live", false],
  ])("%s", async (_, isDry) => {
    await registerNode(plane, "node-1");
    await writeClustersFile(file, entry("blue"), entry("green"));
    program = startProgram([...flags(), ...(isDry ? ["--dry-run"] : [])], withLambda());
    const sent = (name: string) => events.filter(({ cluster }) => cluster === name);
    await waitUntilTrue("blue and green", () => sent("blue").length > 0 && sent("green").length > 0);
    const changed = entry("green", { limits: { invocations: 2 } });
    await writeClustersFile(file, entry("blue"), changed, entry("grey"));
    const { hash } = Cluster.parse(changed);
    await waitUntilTrue("green anew, and grey", () => {
      return sent("green").some(({ clusterHash }) => clusterHash === hash) && sent("grey").length > 0;
    });
    expect(new Set(events.map(({ dryRun }) => dryRun))).toEqual(new Set([isDry ? true : undefined]));
    expect(program.lines.some(({ event }) => event === "DryRun")).toBe(isDry);
  });
});

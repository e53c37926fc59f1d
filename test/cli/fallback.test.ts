import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectAsFunction, createFallbackParts } from "#cli/fallback.ts";
import { fallbackLimits } from "#cli/fallback-limits.ts";
import { startHealth } from "#cli/start-health.ts";
import { createMemoryCloud, readMemoryInstances } from "#clouds/memory/cloud.ts";
import { rulesFor } from "#config/address-rules.ts";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { nodeController } from "#core/node/controller.ts";
import { createLambdaInvoker } from "#delivery/invoke-lambda.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { clusterEntryOf, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { withFallback } from "#relay/delivery/with-fallback.ts";
import { startRelay } from "#relay/relay.ts";
import { access } from "#test/access.ts";
import { instanceOf, register } from "#test/cli/fake-stock.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { untilTrue } from "#test/until-true.ts";

/** What Lambda does: runs the function, or fails in one of the ways in which it does. */
type Mode = "well" | "throttled" | "broken" | "silent";

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let history: NodeHistory;
let server: Server;
let mode: Mode;
/** Objects of the invocations that Lambda has answered with a report. */
let invoked: string[];
/** Who writes what its function decides. */
let writes: "function" | "relay";
let program: Running | undefined;
let ending: (() => Promise<void>)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "fallback-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await access(plane, "admin"));
  history = await recordNodeHistory(admin);
  const instances = [1, 2, 3, 4].map(instanceOf);
  await writeFile(join(folder, "instances.json"), JSON.stringify({ instances }));
  mode = "well";
  invoked = [];
  ending = [];
  writes = "function";
  const deployed = await deployedFunction();
  server = createServer(async (request, response) => {
    const body = JSON.parse((await text(request)) || "null");
    if (request.headers["x-amz-invocation-type"] === "DryRun") return void response.writeHead(204).end();
    if (mode === "silent") return;
    const refusal = REFUSALS[mode];
    if (refusal !== undefined)
      return void response.writeHead(refusal.status, { "x-amzn-errortype": refusal.type }).end("{}");
    const report = await deployed(body, { awsRequestId: "x", getRemainingTimeInMillis: () => 30_000 });
    invoked.push(...namesIn(body));
    response.end(JSON.stringify(report));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await program?.end("SIGKILL");
  program = undefined;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  for (const end of ending) await end();
  await history.close();
  await admin.close();
  await plane.close();
  await rm(folder, { recursive: true });
});

const REFUSALS: Readonly<Partial<Record<Mode, { readonly status: number; readonly type: string }>>> = {
  throttled: { status: 429, type: "TooManyRequestsException" },
  broken: { status: 500, type: "ServiceException" },
};

const entry = (difference: Partial<ClusterEntry> = {}): ClusterEntry =>
  clusterEntryOf(plane, {
    name: "blue",
    cloud: { provider: "memory", instancesFile: join(folder, "instances.json") },
    controllers: ["cloud-node-controller"],
    ...difference,
  });
/** The entry with nothing but the relay to sign in, where that writes. */
function own(): ClusterEntry {
  const { signIn: { relay } = {}, ...whole } = entry();
  return writes === "function" ? entry() : { ...whole, signIn: { relay }, writes };
}
const endpoint = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const rules = rulesFor("file", undefined);

/** The node function as it is deployed, but for where it runs. */
async function deployedFunction(): Promise<PlatformFunction> {
  const api = connect(await access(plane, "node"));
  return controllerFunction(nodeController, {
    clusters: async () => Cluster.parse(own()),
    cloud: async () => createMemoryCloud(readMemoryInstances(join(folder, "instances.json"))),
    api: async () => api,
    now: () => new Date(),
  });
}

/** Time that goes by more quickly: five minutes are five seconds. */
function hastened(factor: number): Clock {
  return {
    now: () => performance.now() * factor,
    wallTime: () => new Date(performance.timeOrigin + performance.now() * factor),
    after(delayMs, callback) {
      const timer = setTimeout(callback, delayMs / factor);
      return () => clearTimeout(timer);
    },
  };
}

/** The objects of an event; that of a probe is none. */
const namesIn = ({ objects }: { readonly objects: readonly unknown[] }): string[] =>
  objects.map((object) => (object as { metadata?: { name: string } }).metadata?.name ?? "probe");

const up = (count: number): Promise<void> =>
  untilTrue(`${count} nodes to come up`, () => history.schedulable === count);

describe("a relay that may handle events by itself", () => {
  test.each<[Mode, typeof writes]>([
    ["throttled", "function"],
    ["broken", "function"],
    ["silent", "function"],
    ["throttled", "relay"],
  ])(
    "does so while Lambda is %s and the %s writes, and gives them back when it was well for five minutes",
    async (outage, whoWrites) => {
      writes = whoWrites;
      const clock = hastened(60);
      const cluster = Cluster.parse(own());
      const lines: Readonly<Record<string, unknown>>[] = [];
      const said = (event: string): boolean => lines.some((line) => line["event"] === event);
      const log = (line: Readonly<Record<string, unknown>>): void => void lines.push(line);
      const handled: string[] = [];
      const lambda = createLambdaInvoker({
        functionName: () => "x-node",
        // An answer is waited for two seconds longer.
        functionTimeoutMs: 300,
        maxInFlight: 10,
        client: {
          endpoint: endpoint(),
          region: "us-east-1",
          credentials: { accessKeyId: "x", secretAccessKey: "x" },
        },
      });
      const { followed, inProcess } = createFallbackParts({ connect: connectAsFunction(rules), log });
      const health = startHealth({ invoker: lambda, clusters: () => 1, log, clock });
      const onEvent = ({ objects }: { readonly objects: readonly unknown[] }): void =>
        void handled.push(...namesIn({ objects }));
      const invoker = withFallback(lambda, inProcess, { health, clock, onEvent });
      const transport = connect(await access(plane, "relay"));
      const relay = startRelay({
        ...{ clusters: [{ cluster, transport }], invoker, identity: "test", clock },
        nodeStatusUpdateFrequencySeconds: 1_000_000,
      });
      followed.add(cluster);

      await register(admin, 1);
      await up(1);
      await untilTrue("Lambda to say so", () => invoked.includes("node-1"));
      expect(handled).toEqual([]);

      mode = outage;
      await register(admin, 2);
      await up(2);
      expect(handled).toContain("node-2");
      expect(lines.find(({ event }) => event === "PlatformFailed")).toMatchObject({
        level: "error",
        controller: "cloud-node-controller",
        code: { throttled: "Throttled", broken: "Unreachable", silent: "TimedOut", well: "" }[outage],
      });

      mode = "well";
      await register(admin, 3);
      await up(3);
      expect([handled.includes("node-3"), said("PlatformBack")]).toEqual([true, false]);
      await untilTrue("the platform to have its work again", () => said("PlatformBack"));
      expect(invoked).toContain("probe");
      await register(admin, 4);
      await up(4);
      await untilTrue("Lambda to say so", () => invoked.includes("node-4"));
      expect(handled).not.toContain("node-4");
      expect([...history.records.values()].map(({ naked }) => naked)).toEqual([false, false, false, false]);
      await relay.close();
      await health.close();
      await invoker.close();
    },
    90_000,
  );

  test("does so in its workers, says so, and is ready all the while", async () => {
    const file = join(folder, "clusters.yaml");
    const secluded = await startEmbeddedControlPlane({ folder: join(folder, "secluded") });
    const its = connect(await access(secluded, "admin"));
    const itsHistory = await recordNodeHistory(its);
    ending.push(
      () => itsHistory.close(),
      () => its.close(),
      () => secluded.close(),
    );
    const { signIn: { relay } = {}, ...written } = clusterEntryOf(secluded, {
      ...{ name: "secluded", cloud: entry().cloud, controllers: ["cloud-node-controller"] },
    });
    // There no function can sign in, and the relay writes.
    await writeClustersFile(file, entry(), { ...written, signIn: { relay }, writes: "relay" });
    mode = "throttled";
    await register(admin, 1);
    await register(its, 1);
    program = startProgram(
      ["relay", `--clusters-file=${file}`, "--function-prefix=x-", "--port=0", "--fallback=in-process"],
      {
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "x",
        AWS_SECRET_ACCESS_KEY: "x",
        AWS_ENDPOINT_URL_LAMBDA: endpoint(),
      },
    );
    expect(await program.line("PlatformFailed")).toMatchObject({ code: "Throttled" });
    await up(1);
    const { url } = await program.line("Serving");
    const counted = async (series: string): Promise<boolean> =>
      (await (await fetch(`${url}/metrics`)).text()).includes(`\n${series}`);
    // A cluster's node can be up before the other cluster has had its turn, and before what was done is counted.
    for (const series of [
      'serverless_ccm_fallback{function="cloud-node-controller"} 1\n',
      'serverless_ccm_fallback_events_total{cluster="blue",controller="cloud-node-controller"} ',
      'serverless_ccm_fallback_events_total{cluster="secluded",',
    ])
      await untilTrue(`${series} among the metrics`, () => counted(series));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await register(admin, 2);
    await up(2);
    await untilTrue("the other's node to come up", () => itsHistory.schedulable === 1);
    expect(await program.end("SIGTERM")).toBe(0);
    const wrote = (await secluded.record()).filter(({ verb, user }) => verb === "patch" && user !== "admin");
    expect(new Set(wrote.map(({ user, resource }) => `${user} ${resource}`))).toEqual(
      new Set(["serverless-ccm-node nodes"]),
    );
    expect(program.lines.filter(({ event }) => event === "FallbackLimited")).toEqual([]);
  }, 120_000);
});

describeWithPart("control-plane", "what a process could do in the functions' stead", (binaries) => {
  let real: ControlPlane;
  beforeAll(async () => {
    real = await startKubeApiserver({ folder: await mkdtemp(join(tmpdir(), "fallback-real-")), binaries });
  }, 120_000);
  afterAll(() => real.close());

  test.each<[string, string[], string | undefined]>([
    ["is all of it where their sign-ins can be read", [], undefined],
    [
      "is what the relay's own rights suffice for, where they cannot",
      ["node"],
      "in the stead of node this process may not get nodes, patch nodes, patch nodes/status, create events in default",
    ],
  ])("%s", async (_, without, limits) => {
    const cloud = { provider: "memory", instancesFile: "none.json" } as const;
    const whole = clusterEntryOf(real, { name: "real", cloud });
    const signIn = Object.fromEntries(
      Object.entries(whole.signIn ?? {}).filter(([name]) => !without.includes(name)),
    );
    const said = await fallbackLimits(Cluster.parse({ ...whole, signIn }), connectAsFunction(rules));
    if (limits === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(limits);
  });
});

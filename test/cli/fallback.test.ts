import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectAsFunction, createFallbackParts } from "#cli/relay/fallback.ts";
import { findFallbackLimits } from "#cli/relay/fallback-limits.ts";
import { startHealth } from "#cli/relay/start-health.ts";
import { createMemoryCloud, readMemoryInstances } from "#clouds/memory/cloud.ts";
import { selectAddressRules } from "#config/address-rules.ts";
import { Cluster, type ClusterEntry } from "#config/cluster.ts";
import { nodeController } from "#core/node/controller.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { createFallbackInvoker } from "#relay/delivery/fallback-invoker.ts";
import { startRelay } from "#relay/relay.ts";
import { getConnectOptions } from "#test/access.ts";
import { getInstance, register } from "#test/cli/fake-stock.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** Lambda's behaviour: it runs the function, or fails in one of its ways. */
type Mode = "well" | "throttled" | "broken" | "silent";

let folder: string;
let plane: EmbeddedControlPlane;
let admin: Transport;
let history: NodeHistory;
let server: Server;
let mode: Mode;
/** Objects of the invocations that Lambda has answered with a report. */
let invoked: string[];
/** The writer of the function's decisions. */
let writes: "function" | "relay";
let program: Running | undefined;
let ending: (() => Promise<void>)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "fallback-"));
  plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  admin = connect(await getConnectOptions(plane, "admin"));
  history = await recordNodeHistory(admin);
  const instances = [1, 2, 3, 4].map(getInstance);
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
  buildClusterEntry(plane, {
    name: "blue",
    cloud: { provider: "memory", instancesFile: join(folder, "instances.json") },
    controllers: ["cloud-node-controller"],
    ...difference,
  });
/** Returns the entry; if the relay writes, it has only the relay's sign-in. */
function own(): ClusterEntry {
  const { signIn: { relay } = {}, ...whole } = entry();
  return writes === "function" ? entry() : { ...whole, signIn: { relay }, writes };
}
const endpoint = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const rules = selectAddressRules("file", undefined);

/** Loads the node function as deployed, except for its platform. */
async function deployedFunction(): Promise<PlatformFunction> {
  const api = connect(await getConnectOptions(plane, "node"));
  return createControllerFunction(nodeController, {
    clusters: async () => Cluster.parse(own()),
    cloud: async () => createMemoryCloud(readMemoryInstances(join(folder, "instances.json"))),
    api: async () => api,
    now: () => new Date(),
  });
}

/** A clock that is faster than the system's by a factor, which may change. */
interface FasterClock extends Clock {
  setFactor(factor: number): void;
}

function createFasterClock(startFactor: number): FasterClock {
  let factor = startFactor;
  let [sinceMs, passedMs] = [performance.now(), 0];
  const now = (): number => passedMs + (performance.now() - sinceMs) * factor;
  return {
    now,
    wallTime: () => new Date(performance.timeOrigin + now()),
    after(delayMs, callback) {
      const atMs = now() + delayMs;
      const timer = setInterval(() => {
        if (now() < atMs) return;
        clearInterval(timer);
        callback();
      }, 2);
      return () => clearInterval(timer);
    },
    setFactor(next) {
      [passedMs, sinceMs] = [now(), performance.now()];
      factor = next;
    },
  };
}

/** Returns the names of an event's objects; a probe has none. */
const namesIn = ({ objects }: { readonly objects: readonly unknown[] }): string[] =>
  objects.map((object) => (object as { metadata?: { name: string } }).metadata?.name ?? "probe");

const up = (count: number): Promise<void> =>
  waitUntilTrue(`${count} nodes to be initialized`, () => history.schedulable === count);

describe("a relay with a fallback", () => {
  test.each<[Mode, typeof writes]>([
    ["throttled", "function"],
    ["broken", "function"],
    ["silent", "function"],
    ["throttled", "relay"],
  ])(
    "handles events itself while Lambda is %s and the %s writes, and returns them after five minutes of success",
    async (outage, whoWrites) => {
      writes = whoWrites;
      // Five minutes take five seconds.
      const clock = createFasterClock(60);
      const cluster = Cluster.parse(own());
      const lines: Readonly<Record<string, unknown>>[] = [];
      const said = (event: string): boolean => lines.some((line) => line["event"] === event);
      const log = (line: Readonly<Record<string, unknown>>): void => void lines.push(line);
      const handled: string[] = [];
      const lambda = createLambdaInvoker({
        functionName: () => "x-node",
        // An answer is awaited for two more seconds.
        functionTimeoutMs: outage === "silent" ? 300 : 60_000,
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
      const invoker = createFallbackInvoker(lambda, inProcess, { health, clock, onEvent });
      const transport = connect(await getConnectOptions(plane, "relay"));
      const relay = startRelay({
        ...{ clusters: [{ cluster, transport }], invoker, identity: "test", clock },
        nodeStatusUpdateFrequencySeconds: 1_000_000,
      });
      followed.add(cluster);

      await register(admin, 1);
      await up(1);
      await waitUntilTrue("Lambda to say so", () => invoked.includes("node-1"));
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

      // Five minutes of success cannot pass before the check below.
      clock.setFactor(1);
      mode = "well";
      await register(admin, 3);
      await up(3);
      expect([handled.includes("node-3"), said("PlatformBack")]).toEqual([true, false]);
      clock.setFactor(60);
      await waitUntilTrue("the platform to have its work again", () => said("PlatformBack"));
      expect(invoked).toContain("probe");
      await register(admin, 4);
      await up(4);
      await waitUntilTrue("Lambda to say so", () => invoked.includes("node-4"));
      expect(handled).not.toContain("node-4");
      expect([...history.records.values()].map(({ naked }) => naked)).toEqual([false, false, false, false]);
      await relay.close();
      await health.close();
      await invoker.close();
    },
  );

  test("handles events in its workers, reports it, and stays ready", async () => {
    const file = join(folder, "clusters.yaml");
    const secluded = await startEmbeddedControlPlane({ folder: join(folder, "secluded") });
    const its = connect(await getConnectOptions(secluded, "admin"));
    const itsHistory = await recordNodeHistory(its);
    ending.push(
      () => itsHistory.close(),
      () => its.close(),
      () => secluded.close(),
    );
    const { signIn: { relay } = {}, ...written } = buildClusterEntry(secluded, {
      ...{ name: "secluded", cloud: entry().cloud, controllers: ["cloud-node-controller"] },
    });
    // In this cluster no function can sign in, and the relay writes.
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
    // One cluster's node can be initialized before the other cluster had its turn, and before the work is
    // counted.
    for (const series of [
      'serverless_ccm_fallback{function="cloud-node-controller"} 1\n',
      'serverless_ccm_fallback_events_total{cluster="blue",controller="cloud-node-controller"} ',
      'serverless_ccm_fallback_events_total{cluster="secluded",',
    ])
      await waitUntilTrue(`${series} among the metrics`, () => counted(series));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await register(admin, 2);
    await up(2);
    await waitUntilTrue("the other's node to come up", () => itsHistory.schedulable === 1);
    expect(await program.end("SIGTERM")).toBe(0);
    const wrote = (await secluded.record()).filter(({ verb, user }) => verb === "patch" && user !== "admin");
    expect(new Set(wrote.map(({ user, resource }) => `${user} ${resource}`))).toEqual(
      new Set(["serverless-ccm-node nodes"]),
    );
    expect(program.lines.filter(({ event }) => event === "FallbackLimited")).toEqual([]);
  });
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
      "on behalf of node this process may not get nodes, patch nodes, patch nodes/status, create events in default",
    ],
  ])("%s", async (_, without, limits) => {
    const cloud = { provider: "memory", instancesFile: "none.json" } as const;
    const whole = buildClusterEntry(real, { name: "real", cloud });
    const signIn = Object.fromEntries(
      Object.entries(whole.signIn ?? {}).filter(([name]) => !without.includes(name)),
    );
    const said = await findFallbackLimits(Cluster.parse({ ...whole, signIn }), connectAsFunction(rules));
    if (limits === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(limits);
  });
});

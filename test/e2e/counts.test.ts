import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { type CountingProxy, startCountingProxy } from "#emulators/harness/counting-proxy.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import type { Running } from "#test/cli/program.ts";
import {
  COSTS,
  type Cost,
  type Costs,
  formatCosts,
  getLowerBound,
  getUpperBound,
  SCENARIOS,
  type Scenario,
} from "#test/e2e/costs.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { countWritesByNode, TWO_WRITES } from "#test/witness/requests.ts";

const TIMEOUT_MS = 120_000;

test("the documented costs are the counted ones", async () => {
  const page = await readFile(
    new URL("../../docs/explanation/what-a-node-costs.md", import.meta.url),
    "utf8",
  );
  const documented = page.split("\n").filter((line) => line.startsWith("|"));
  expect(documented).toEqual(expect.arrayContaining([...formatCosts()]));
});

describeWithPart("control-plane", "what a node costs on a real API server", (binaries) => {
  let stage: Stage;
  let proxies: Readonly<Record<"node" | "relay" | "ec2", CountingProxy>>;
  beforeEach(async () => {
    stage = await startStage(binaries);
    const { plane, ec2 } = stage;
    const [node, relay] = [await startCountingProxy(plane.server), await startCountingProxy(plane.server)];
    proxies = { node, relay, ec2: await startCountingProxy(ec2.url) };
  });
  afterEach(async () => {
    await stage?.close();
    await Promise.all(Object.values(proxies ?? {}).map((proxy) => proxy.close()));
  });

  test.for<Scenario>(["there", "withoutIds"])("existing nodes: %s", async (scenario) => {
    const instances = await launch(scenario);
    await Promise.all(instances.map((instance) => register(instance, scenario)));
    const relay = await startRelay();
    await untilReported(relay, instances.length);
    await expectCosts(scenario, relay, instances);
  });

  test("nodes that register all at once: atOnce", async () => {
    const instances = await launch("atOnce");
    const relay = await startRelay();
    await relay.line("Listed");
    await Promise.all(instances.map((instance) => register(instance, "atOnce")));
    await untilReported(relay, instances.length);
    await expectCosts("atOnce", relay, instances);
  });

  test("nodes that register one after the other: oneByOne", async () => {
    const instances = await launch("oneByOne");
    const relay = await startRelay();
    await relay.line("Listed");
    for (const [before, instance] of instances.entries()) {
      await register(instance, "oneByOne");
      await untilReported(relay, before + 1);
    }
    await expectCosts("oneByOne", relay, instances);
  });

  async function launch(scenario: Scenario): Promise<readonly Ec2Instance[]> {
    return stage.ec2.addInstances(Array.from({ length: SCENARIOS[scenario].nodes }, () => ({})));
  }

  function register(
    { id, availabilityZone, privateDnsName: name }: Ec2Instance,
    scenario: Scenario,
  ): Promise<unknown> {
    const providerID = `aws:///${availabilityZone}/${id}`;
    return stage.cluster.join({ name, ...(SCENARIOS[scenario].providerIds ? { providerID } : {}) });
  }

  /** Starts `serverless-ccm run` with a proxy on each of its three outgoing connections. */
  async function startRelay(): Promise<Running> {
    const cloud = ["--cloud-provider", "aws", "--cloud-config", join(stage.folder, "cloud.yaml")];
    const access = [
      "--kubeconfig",
      await kubeconfig("node"),
      "--relay-kubeconfig",
      await kubeconfig("relay"),
    ];
    // The first pass over all nodes comes after a random part of this.
    const flags = [...cloud, ...access, "--node-status-update-frequency", "24h", "--port", "0"];
    return stage.program(["run", ...flags], { AWS_ENDPOINT_URL_EC2: proxies.ec2.url });
  }

  async function kubeconfig(user: "node" | "relay"): Promise<string> {
    const file = join(stage.folder, `${user}.kubeconfig`);
    const { certificateAuthorityFile } = stage.plane;
    const [server, tokenFile] = [proxies[user].url, stage.plane.tokenFile(user)];
    await writeKubeconfig(file, { cluster: "counted", user, server, certificateAuthorityFile, tokenFile });
    return file;
  }

  /** A report comes after all patches and Events that it covers. */
  function untilReported(relay: Running, nodes: number): Promise<void> {
    const changed = (): number => sum(reportsOf(relay).map(({ outcomes }) => outcomes.changed));
    return waitUntil(`${nodes} nodes to be reported`, async () => changed() >= nodes, TIMEOUT_MS);
  }

  async function expectCosts(
    scenario: Scenario,
    relay: Running,
    instances: readonly Ec2Instance[],
  ): Promise<void> {
    await stage.untilUp(instances);
    expect(await relay.end("SIGTERM")).toBe(0);
    const records = await stage.plane.record();
    const tooMany = [...records, ...stage.ec2.record().map(({ code }) => ({ code }))].filter(isThrottled);
    expect(tooMany).toEqual([]);
    expect(await stage.flaws()).toEqual([]);
    const twoWrites = [...countWritesByNode(records).values()].filter((writes) =>
      isEqual(writes, TWO_WRITES),
    );
    expect(twoWrites.length).toBeGreaterThanOrEqual(0.95 * instances.length);
    expect(outOfBounds(await countAll(relay, instances.length), scenario)).toEqual([]);
  }

  async function countAll(relay: Running, nodes: number): Promise<Costs> {
    const records = await stage.plane.record();
    const requests = (user: "node" | "relay", resource: string, verb: string): number =>
      records.filter(
        (each) =>
          each.user === CONTROL_PLANE_USERS[user].name && each.resource === resource && each.verb === verb,
      ).length;
    // Every node is checked once more, 20 to 60 seconds later: a slow machine sees the first of these checks.
    const [looks, work] = partition(reportsOf(relay), ({ reason }) => reason === "refresh");
    const failed = relay.lines.filter(({ event }) => event === "InvocationFailed");
    const callsOfLooks = sum(looks.flatMap(({ usage }) => Object.values(usage.cloud.calls)));
    const [functions, watching, ec2] = [
      proxies.node.traffic(),
      proxies.relay.traffic(),
      proxies.ec2.traffic(),
    ];
    return {
      invocations: work.length + failed.length,
      ec2Calls: stage.ec2.record().length - callsOfLooks,
      nodeWrites: requests("node", "nodes", "patch"),
      nodeReads: requests("node", "nodes", "get") + requests("relay", "nodes", "get"),
      eventWrites: requests("node", "events", "create"),
      lists: requests("relay", "nodes", "list"),
      functionsConnections: functions.connections,
      relayConnections: watching.connections,
      ec2Connections: ec2.connections,
      functionsUpBytes: Math.round(functions.upBytes / nodes),
      functionsDownBytes: Math.round(functions.downBytes / nodes),
      relayUpBytes: Math.round(watching.upBytes / nodes),
      relayDownBytes: Math.round(watching.downBytes / nodes),
      ec2UpBytes: Math.round(ec2.upBytes / nodes),
      ec2DownBytes: Math.round(ec2.downBytes / nodes),
    };
  }
});

/** The fields that are read in a `Report` line of the log. */
interface ReportLine {
  readonly event: "Report";
  readonly reason: string;
  readonly outcomes: { readonly changed: number };
  readonly usage: { readonly cloud: { readonly calls: Readonly<Record<string, number>> } };
}

function reportsOf({ lines }: Running): readonly ReportLine[] {
  return lines.filter((line): line is typeof line & ReportLine => line["event"] === "Report");
}

/** Returns a line for each count outside its bounds. */
function outOfBounds(counted: Costs, scenario: Scenario): readonly string[] {
  return Object.entries(COSTS).flatMap(([key, cost]: [string, Cost]) => {
    const count = counted[key as keyof Costs];
    const [least, most] = [getLowerBound(cost, scenario), getUpperBound(cost, scenario)];
    return count >= least && count <= most ? [] : [`${cost.title}: ${count}, not ${least} to ${most}`];
  });
}

function isThrottled({ code }: { readonly code: number | string }): boolean {
  return code === 429 || code === "RequestLimitExceeded";
}

function isEqual(
  writes: Readonly<Record<string, number>>,
  others: Readonly<Record<string, number>>,
): boolean {
  const keys = new Set([...Object.keys(writes), ...Object.keys(others)]);
  return [...keys].every((key) => writes[key] === others[key]);
}

function partition<Value>(values: readonly Value[], holds: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(holds), values.filter((value) => !holds(value))];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

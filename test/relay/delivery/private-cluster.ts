import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { nodeClaimController } from "#core/look-ahead/controller.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Report } from "#core/report.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask } from "#test/ask.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A cluster whose API server no function reaches, and the node function, for which every attempt fails. */
export interface PrivateCluster {
  readonly plane: EmbeddedControlPlane;
  readonly cluster: Cluster;
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly lines: readonly OutcomeLine[];
  /** Carries events to the function; its writes are not applied yet. */
  readonly invoker: Invoker;
  /** Opens the relay's transport to the API server; the caller closes it. */
  connect(): Promise<Transport>;
  /** Returns how often the function has tried to reach the API server. */
  tries(): number;
  /** Changes the function's reports on their way to the relay. */
  forge: (report: Report) => Report | Promise<Report>;
  startRelay(): Promise<Relay>;
  /** Registers nodes, many at once. */
  join(...names: readonly string[]): Promise<void>;
  up(): number;
  untilUp(count: number): Promise<void>;
  close(): Promise<void>;
}

const JOINING_AT_ONCE = 32;

export async function startPrivateCluster(): Promise<PrivateCluster> {
  const folder = await mkdtemp(join(tmpdir(), "private-"));
  const plane = await startEmbeddedControlPlane({ folder });
  const admin = connect(await getConnectOptions(plane, "admin"));
  const history = await recordNodeHistory(admin);
  const cloud: MemoryInstances = { instances: new Map() };
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: plane.server,
    certificateAuthorityFile: plane.certificateAuthorityFile,
    signIn: { relay: { kind: "token-file", file: plane.tokenFile("relay") } },
    cloud: { provider: "memory", instancesFile: "unused" },
    controllers: [nodeController.name],
    nodes: { lookAhead: ["node-claims"] },
    writes: "relay",
  });
  const relays: Relay[] = [];
  const lines: OutcomeLine[] = [];
  let tries = 0;
  const node = createControllerFunction([nodeController, nodeClaimController], {
    clusters: async (name) => (name === cluster.name ? cluster : undefined),
    cloud: async () => createMemoryCloud(cloud),
    api: () => {
      tries += 1;
      return Promise.reject(new Error("connect EHOSTUNREACH"));
    },
    now: () => new Date(),
  });
  const honest = createInProcessInvoker(
    new Map([nodeController, nodeClaimController].map(({ name }) => [name, node])),
    20_000,
  );
  const invoker: Invoker = {
    close: () => honest.close(),
    async invoke(event, signal) {
      const invocation = await honest.invoke(event, signal);
      if (invocation.kind === "failed") return invocation;
      return { kind: "report", report: await made.forge(invocation.report) };
    },
  };
  const up = (): number =>
    [...history.records.values()].filter(({ schedulableAt }) => schedulableAt !== undefined).length;
  const made: PrivateCluster = {
    ...{ plane, cluster, admin, history, lines, invoker, up },
    connect: async () => connect(await getConnectOptions(plane, "relay")),
    tries: () => tries,
    forge: (report) => report,
    startRelay: async () => {
      const relay = startRelay({
        clusters: [{ cluster, transport: connect(await getConnectOptions(plane, "relay")) }],
        invoker,
        identity: `relay-${relays.length}`,
        nodeStatusUpdateFrequencySeconds: 300,
        onOutcome: (line) => lines.push(line),
      });
      relays.push(relay);
      return relay;
    },
    join: async (...names) => {
      for (const name of names)
        cloud.instances.set(name, buildRunningInstance(name, getAddress(cloud.instances.size)));
      const waiting = [...names];
      const create = async (): Promise<void> => {
        for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
          const body = buildJoiningNode({ name });
          await ask(admin, { method: "POST", path: "/api/v1/nodes", body, timeoutMs: 60_000 });
        }
      };
      await Promise.all(Array.from({ length: JOINING_AT_ONCE }, create));
    },
    untilUp: (count) => waitUntilTrue(`${count} nodes to be initialized`, () => up() === count, 60_000),
    close: async () => {
      await Promise.all(relays.map((relay) => relay.close()));
      await history.close();
      await admin.close();
      await plane.close();
      await rm(folder, { recursive: true });
    },
  };
  return made;
}

import { readFile } from "node:fs/promises";
import { join as pathOf } from "node:path";
import { expect } from "vitest";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { signIn } from "#config/sign-in.ts";
import { nodeController } from "#core/node/controller.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type NodeRecord, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { createConnectionCache } from "#functions/parts/connection-cache.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { startRelay } from "#relay/relay.ts";
import { ask } from "#test/ask.ts";
import { buildRunningInstance } from "#test/clouds/memory/running-instance.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** The options of a burst of joining nodes. */
export interface BurstOptions {
  readonly cluster: Cluster;
  /** An administrator's transport. */
  readonly admin: Transport;
  /** The control plane's folder with its audit log. */
  readonly folder: string;
  /** The prefix of the nodes' names. */
  readonly prefix: string;
  /** Runs in the middle of the burst: revokes the credentials in use. They are rejected when it resolves. */
  readonly rotate: () => Promise<unknown>;
}

const FIRST = 40;
const MEANWHILE = 30;
const LAST = 30;

/**
 * Joins a hundred nodes, and revokes the credentials of relay and function in the middle. Each node comes up,
 * and none is ever schedulable without an address. Returns the number of 401 answers of the API server.
 */
export async function playBurst({ cluster, admin, folder, prefix, rotate }: BurstOptions): Promise<number> {
  const cloud: MemoryInstances = { instances: new Map() };
  const api = createConnectionCache({ role: "node", most: 4, answersAlone: true });
  const node = createControllerFunction(nodeController, {
    clusters: async () => cluster,
    cloud: async () => createMemoryCloud(cloud),
    api,
    now: () => new Date(),
  });
  const lines: unknown[] = [];
  const history = await recordNodeHistory(admin);
  const relay = startRelay({
    clusters: [
      { cluster, transport: connect({ server: cluster.server, ...(await signIn(cluster, "relay")) }) },
    ],
    invoker: createInProcessInvoker(new Map([[nodeController.name, node]]), 20_000),
    identity: prefix,
    nodeStatusUpdateFrequencySeconds: 300,
    onOutcome: (line) => lines.push(line),
  });
  let joined = 0;
  const join = async (count: number): Promise<void> => {
    const names = Array.from({ length: count }, () => `${prefix}-${joined++}`);
    for (const name of names) {
      cloud.instances.set(name, buildRunningInstance(name, `10.0.0.${cloud.instances.size + 1}`));
      await ask(admin, { method: "POST", path: "/api/v1/nodes", body: buildJoiningNode({ name }) });
    }
  };
  const records = (): NodeRecord[] =>
    [...history.records.values()].filter(({ name }) => name.startsWith(`${prefix}-`));
  const up = (): number => records().filter(({ schedulableAt }) => schedulableAt !== undefined).length;
  try {
    await join(FIRST);
    await waitUntilTrue("the first nodes to come up", () => up() >= FIRST / 2);
    await Promise.all([rotate(), join(MEANWHILE)]);
    await join(LAST);
    await waitUntilTrue("all nodes to come up", () => up() === joined, 60_000).catch((error: Error) => {
      throw new Error(`${error.message}, ${up()} are: ${JSON.stringify(lines.slice(-3)).slice(0, 1_500)}`);
    });
    expect(joined).toBe(FIRST + MEANWHILE + LAST);
    expect(records().filter(({ naked, deleted }) => naked || deleted)).toEqual([]);
    expect(history.hole).toBeUndefined();
    expect(relay.ready()).toBe(true);
    const audit = await readFile(pathOf(folder, "audit.log"), "utf8");
    return audit.split("\n").filter((line) => line.includes('"code":401') && line.includes(`/${prefix}-`))
      .length;
  } finally {
    await relay.close();
    await history.close();
    await (await api(cluster)).close();
  }
}

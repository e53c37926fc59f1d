import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import * as z from "zod";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import { selectOwner } from "#relay/sharding/shard.ts";
import { getConnectOptions } from "#test/access.ts";
import { getBuiltCommandLine } from "#test/build/shared-build.ts";
import { createReplicas, waitUntilFollowed } from "#test/sharding/replicas.ts";
import { startTenants } from "#test/sharding/tenants.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

export interface Play {
  readonly clusters: number;
  /** This many clusters are on real API servers, starting with the one that has the Leases. */
  readonly real?: { readonly count: number; readonly binaries: ControlPlaneBinaries };
  /** Milliseconds between two nodes that join. */
  readonly everyMs: number;
  /** Whether one replica is also paused and resumed, like a machine that is moved. */
  readonly halts?: boolean;
  readonly say: (line: string) => void;
}

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const Leases = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

/**
 * Shares clusters among three replicas while nodes join; one replica is killed, one is added, one is stopped.
 * After each step every replica follows its clusters, which depend on the names. In the end each node that
 * has joined is up and was written twice.
 */
export async function playSharding({ clusters, real, everyMs, halts, say }: Play): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "sharding-"));
  const tenants = await startTenants(folder, clusters, real);
  const [first = ""] = tenants.names;
  const leases = tenants.planeOf(first);
  const admin = connect(await getConnectOptions(leases, "admin"));
  const program = join(await getBuiltCommandLine(), "serverless-ccm.mjs");
  const kubeconfig = await leases.kubeconfig("admin");
  const replicas = createReplicas(
    tenants,
    () => [`--shard-by=kubernetes:${kubeconfig}?namespace=default`],
    program,
  );
  const leaseNames = async (): Promise<string[]> =>
    Leases.parse(JSON.parse((await admin.send({ method: "GET", path: LEASES })).body)).items.map(
      ({ metadata }) => metadata.name,
    );
  const owned = (name: string, among: readonly string[]): string[] =>
    tenants.names.filter((cluster) => selectOwner(cluster, among) === name);
  async function shares(): Promise<string> {
    return [...(await replicas.followed())].map(([name, { length }]) => `${name} ${length}`).join(", ");
  }
  let timer: NodeJS.Timeout | undefined;
  let joining: Promise<void> = Promise.resolve();
  let next = 0;
  function joinSteadily(): void {
    timer = setInterval(() => {
      const cluster = tenants.names[next % clusters] ?? first;
      next += 1;
      joining = joining.then(async () => void (await tenants.register(cluster)));
    }, everyMs);
  }

  try {
    joinSteadily();
    const begunMs = performance.now();
    await Promise.all([
      replicas.start("a", "--workers=2"),
      replicas.start("b"),
      replicas.start("c", "--workers=0"),
    ]);
    await waitUntilFollowed(replicas, "at first");
    say(`three replicas: ${await shares()}; ${seconds(begunMs)} after their start`);
    expect(await leaseNames()).toEqual(["a", "b", "c"]);
    for (const name of ["a", "b", "c"]) {
      const { length } = owned(name, ["a", "b", "c"]);
      const words = `replica ${name} of a, b, c: ${length} of ${clusters} clusters`;
      expect(await replicas.readiness(name)).toContain(words);
      expect(await replicas.metric(name, "serverless_ccm_shard_clusters")).toBe(length);
    }

    const killedMs = performance.now();
    await replicas.end("b", "SIGKILL");
    const [orphaned = first] = owned("b", ["a", "b", "c"]);
    const node = await tenants.register(orphaned);
    await waitUntilTrue("a node of its clusters to be up", () => tenants.isUp(orphaned, node));
    const upAfter = seconds(killedMs);
    await waitUntilFollowed(replicas, "after one was killed");
    say(`b killed: ${await shares()}; all of its clusters followed ${seconds(killedMs)} later`);
    say(`a node that joined one of them as b was killed was up after ${upAfter}`);
    expect(await leaseNames()).toEqual(["a", "b", "c"]);

    const addedMs = performance.now();
    await replicas.start("d");
    await waitUntilFollowed(replicas, "after one was added");
    say(`d added: ${await shares()}; all as computed ${seconds(addedMs)} later, 15 s of which both follow`);

    if (halts === true) {
      const haltedMs = performance.now();
      replicas.halt("d", true);
      await waitUntilFollowed(replicas, "after one was halted");
      say(`d halted: ${await shares()}; all of its clusters followed ${seconds(haltedMs)} later`);
      replicas.halt("d", false);
      await waitUntilFollowed(replicas, "after it goes on");
      say(`d goes on: ${await shares()}`);
    }

    const endedMs = performance.now();
    const ended = replicas.end("c", "SIGTERM");
    await waitUntilFollowed(replicas, "after one was ended");
    say(`c ended: ${await shares()}; all of its clusters followed ${seconds(endedMs)} later`);
    expect(await ended).toBe(0);
    expect(await leaseNames()).toEqual(["a", "b", "d"]);
    for (const name of ["a", "d"]) {
      const changes = replicas.linesOf(name).filter(({ event }) => event === "ReplicasChanged");
      expect(changes.at(-1)).toMatchObject({ replica: name, replicas: ["a", "d"] });
    }

    clearInterval(timer);
    await joining;
    await waitUntilTrue("all nodes to be up", async () => (await tenants.notUp()).length === 0, 120_000);
    const writes = await tenants.writesOfNodes();
    expect(writes).toHaveLength(tenants.registered());
    expect(new Set(writes)).toEqual(new Set([2]));
    say(`${tenants.registered()} nodes joined meanwhile, all are up, each was written twice`);
    for (const name of ["a", "d"]) expect(await replicas.end(name, "SIGTERM")).toBe(0);
    // The killed replica left its Lease.
    expect(await leaseNames()).toEqual(["b"]);
    const renewals = (await leases.record()).filter(
      ({ resource, verb }) => resource === "leases" && verb === "update",
    );
    say(`${renewals.length} renewals of Leases in ${seconds(begunMs)}`);
  } finally {
    clearInterval(timer);
    await joining.catch(() => undefined);
    await replicas.close();
    await admin.close();
    await tenants.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}

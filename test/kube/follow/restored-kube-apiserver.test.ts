import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect } from "vitest";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { type Away, type SwitchedProxy, startSwitchedProxy } from "#test/kube/follow/switched-proxy.ts";
import { describeWithPart, testWithPart } from "#test/setup/parts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const NODES = "/api/v1/nodes";

/** A control plane, and its admin. */
interface Plane {
  readonly cluster: ClusterUnderTest;
  readonly server: KubeApiserver;
  readonly admin: Transport;
}

interface Restore {
  readonly away: string;
  readonly how: Away;
  readonly awayMs: number;
  /** Where the store that was set back is when clients can reach it again: below what they have seen, or beyond. */
  readonly history: "below" | "beyond";
}

const RESTORES: readonly Restore[] = [
  { away: "a moment, too short to be noticed", how: "ended", awayMs: 0, history: "below" },
  { away: "a moment, too short to be noticed", how: "ended", awayMs: 0, history: "beyond" },
  { away: "half a second", how: "refused", awayMs: 500, history: "below" },
  { away: "half a second", how: "refused", awayMs: 500, history: "beyond" },
  { away: "a second behind a load balancer", how: "ended", awayMs: 1_000, history: "below" },
  { away: "a second behind a load balancer", how: "ended", awayMs: 1_000, history: "beyond" },
  { away: "two seconds", how: "refused", awayMs: 2_000, history: "below" },
  { away: "five seconds", how: "refused", awayMs: 5_000, history: "beyond" },
];

describeWithPart("control-plane", "etcd restored from a backup on kube-apiserver", (binaries) => {
  const planes: Plane[] = [];
  let proxy: SwitchedProxy;
  let active: Plane;
  let spare: Plane;
  const stopping = new AbortController();
  const known = new Map<string, string>();
  const notes: WatchNote[] = [];
  let following: Promise<void>;

  async function startPlane(): Promise<Plane> {
    let server: KubeApiserver | undefined;
    const cluster = await startCluster(async (folder) => {
      server = await startKubeApiserver({ folder, binaries });
      return server;
    });
    if (server === undefined) throw new Error("no control plane was started");
    const plane = { cluster, server, admin: await cluster.transport("admin") };
    planes.push(plane);
    return plane;
  }

  beforeAll(async () => {
    active = await startPlane();
    spare = await startPlane();
    proxy = await startSwitchedProxy(portOf(active));
    const users = await Promise.all(planes.map(({ server }) => getConnectOptions(server, "relay")));
    const transport = connect({
      server: `https://127.0.0.1:${proxy.port}`,
      // One control plane to its clients: the two differ only in keys that a restore does not change.
      certificateAuthority: users.map(({ certificateAuthority }) => certificateAuthority).join("\n"),
      authorization: async () => users[planes.indexOf(active)]?.authorization?.(),
    });
    following = watchResource({
      transport,
      path: NODES,
      project: (object) => object,
      clock: systemClock,
      random: Math.random,
      signal: stopping.signal,
      handler: {
        applied: (_, { name, uid }) => void known.set(name, uid),
        deleted: ({ name }) => void known.delete(name),
        restarted: () => {},
        note: (note) => notes.push(note),
      },
    }).finally(() => transport.close());
  });
  afterAll(async () => {
    stopping.abort();
    await following;
    await proxy?.close();
    for (const { cluster } of planes) await cluster.close();
  });

  async function nodesOf({ admin }: Plane): Promise<Record<string, string>> {
    const list = (await askForJson(admin, { method: "GET", path: NODES })) as {
      readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
    };
    return Object.fromEntries(list.items.map(({ metadata: { name, uid } }) => [name, uid]));
  }
  const sorted = (nodes: Iterable<readonly [string, string]>): string => JSON.stringify([...nodes].sort());
  const isFollowed = async (plane: Plane): Promise<boolean> =>
    sorted(known) === sorted(Object.entries(await nodesOf(plane)));
  const join = (plane: Plane, ...names: readonly string[]) =>
    Promise.all(names.map((name) => plane.cluster.join({ name })));
  const named = (what: string, round: number, count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `${what}-${round}-${index}`);
  const versionOf = async ({ admin }: Plane): Promise<number> => {
    const page = (await askForJson(admin, { method: "GET", path: `${NODES}?limit=1` })) as {
      readonly metadata: { readonly resourceVersion: string };
    };
    return Number(page.metadata.resourceVersion);
  };

  for (const [round, { away, how, awayMs, history }] of RESTORES.entries())
    testWithPart("etcdutl")(
      `is followed within seconds, the API server away for ${away}, its versions ${history} ours`,
      async () => {
        await join(active, ...named("kept", round, 2));
        const backup = await active.server.backup();
        await join(active, ...named("lost", round, 3));
        const lastLost = named("lost", round, 3)[0] ?? "";
        // Starting takes some versions of its own.
        const batches = history === "below" ? 15 : 1;
        for (let batch = 0; batch < batches; batch += 1)
          await Promise.all(
            Array.from({ length: 20 }, (_, index) =>
              active.cluster.patch(lastLost, [
                { op: "add", path: "/metadata/labels/write", value: `${batch}-${index}` },
              ]),
            ),
          );
        await waitUntilTrue("all nodes to be followed", () => isFollowed(active));
        const seen = await versionOf(active);

        await spare.server.restore(backup);
        await join(spare, ...named("joined-meanwhile", round, 10));
        const nextWrite = named("kept", round, 2)[0] ?? "";
        if (history === "beyond")
          for (let write = 0; (await versionOf(spare)) <= seen; write += 1)
            await spare.cluster.patch(nextWrite, [
              { op: "add", path: "/metadata/labels/write", value: `${write}` },
            ]);
        else expect(await versionOf(spare)).toBeLessThan(seen);

        notes.length = 0;
        await proxy.away(how);
        [active, spare] = [spare, active];
        await sleep(awayMs);
        await proxy.back(portOf(active));
        await waitUntilTrue("the nodes of the restored store to be followed", () => isFollowed(active));
        await join(active, ...named("joined-afterwards", round, 2));
        await waitUntilTrue("nodes that joined afterwards to be followed", () => isFollowed(active));
      },
      180_000,
    );
});

function portOf({ server: { server } }: Plane): number {
  return Number(new URL(server).port);
}

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { WAIT } from "#test/wait-until-true.ts";

let cluster: ClusterUnderTest;
let plane: EmbeddedControlPlane;
let followed: Followed | undefined;

beforeEach(async () => {
  cluster = await startCluster(async (folder) => {
    plane = await startEmbeddedControlPlane({ folder });
    return plane;
  });
});
afterEach(async () => {
  await followed?.end();
  await cluster.close();
});

test.each(["status", "event"] as const)(
  "a version that is too old (%s 410) leads to a list that reports what was missed",
  async (form) => {
    const gate = Promise.withResolvers<void>();
    let watches = 0;
    const transport = await cluster.transport("relay");
    followed = follow({
      ...transport,
      stream: async (request) => {
        watches += 1;
        if (watches > 1) await gate.promise;
        return transport.stream(request);
      },
    });
    await cluster.join({ name: "stays" });
    await cluster.join({ name: "goes" });
    await vi.waitFor(() => expect(followed?.names()).toEqual(["goes", "stays"]), WAIT);
    plane.control.endWatches();
    await vi.waitFor(() => expect(watches).toBe(2), WAIT);
    await cluster.remove("goes");
    await cluster.join({ name: "comes" });
    plane.control.answerExpiredWatchesWith(form);
    plane.control.forgetChanges();
    gate.resolve();
    await vi.waitFor(() => expect(followed?.names()).toEqual(["comes", "stays"]), WAIT);
    expect(followed.lists()).toEqual(["start", "gone"]);
    expect(followed.deletions).toEqual(["goes"]);
  },
);

test("an expired continue token restarts the list, and no object is reported twice or as deleted", async () => {
  const names = Array.from({ length: 600 }, (_, index) => `node-${String(index).padStart(3, "0")}`);
  await Promise.all(names.map((name) => cluster.join({ name })));
  const transport = await cluster.transport("relay");
  const pages: number[] = [];
  followed = follow({
    ...transport,
    send: async (request) => {
      if (request.path.includes("continue=") && pages.length === 1) {
        // Without a change in between the version of the first page is still the latest, and never too old.
        await cluster.join({ name: "node-600" });
        plane.control.expireContinueTokens();
      }
      const answer = await transport.send(request);
      pages.push(answer.status);
      return answer;
    },
  });
  await vi.waitFor(() => expect(followed?.names()).toEqual([...names, "node-600"]), WAIT);
  expect(pages).toEqual([200, 410, 200, 200]);
  expect(followed.applications()).toBe(601);
  expect(followed.deletions).toEqual([]);
});

/** A watch of all nodes, and what it has reported. */
interface Followed {
  readonly deletions: readonly string[];
  names(): readonly string[];
  applications(): number;
  lists(): readonly string[];
  end(): Promise<void>;
}

function follow(transport: Transport): Followed {
  const stopped = new AbortController();
  const known = new Set<string>();
  const deletions: string[] = [];
  const notes: WatchNote[] = [];
  let applications = 0;
  const following = watchResource<undefined>({
    transport,
    path: "/api/v1/nodes",
    project: () => undefined,
    handler: {
      applied: (_, { name }) => {
        applications += 1;
        known.add(name);
      },
      deleted: ({ name }) => {
        deletions.push(name);
        known.delete(name);
      },
      restarted: () => undefined,
      note: (note) => notes.push(note),
    },
    clock: systemClock,
    random: () => 0,
    signal: stopped.signal,
  });
  return {
    deletions,
    names: () => [...known].sort(),
    applications: () => applications,
    lists: () => notes.flatMap((note) => (note.kind === "listed" ? [note.cause] : [])),
    end: () => {
      stopped.abort();
      return following;
    },
  };
}

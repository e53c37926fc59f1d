import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import type { LogFacts } from "#core/log-text.ts";
import type { Report } from "#core/report.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import { createLife, ignoreKilled } from "#test/functions/life.ts";
import { createShelfCloud, type ShelfCloud } from "#test/functions/shelves/cloud.ts";
import { STATE, shelfController } from "#test/functions/shelves/controller.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { expectLogLines } from "#test/log-lines.ts";

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** A controller that takes three rounds and a shared write, on one API server. */
export function describeRounds(title: string, start: (folder: string) => Promise<ControlPlane>): void {
  describe(`rounds on ${title}`, () => {
    let cluster: ClusterUnderTest;
    let admin: Transport;
    let entry: Cluster;
    let named = 0;

    beforeAll(async () => {
      cluster = await startCluster(start);
      admin = await cluster.transport("admin");
      entry = Cluster.parse({
        name: "tenant-a",
        server: "https://127.0.0.1",
        cloud: { provider: "memory", instancesFile: "unused" },
      });
    });
    afterAll(() => cluster?.close());

    const ask = async (method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<Reply> => {
      const answer = await admin.send({ method, path, ...(body === undefined ? {} : { body }) });
      return { status: answer.status, body: JSON.parse(answer.body) };
    };
    const pathOf = (name: string): string => `/api/v1/namespaces/default/configmaps/${name}`;

    /** ConfigMaps with a book each, as they were stored. */
    async function wishes(count: number): Promise<Record<string, unknown>[]> {
      await ask("DELETE", `/api/v1/namespaces/${STATE.namespace}/configmaps/${STATE.name}`);
      return Promise.all(
        Array.from({ length: count }, async () => {
          const name = `wish-${++named}`;
          const object = {
            apiVersion: "v1",
            kind: "ConfigMap",
            metadata: { name },
            data: { book: `of ${name}` },
          };
          return (await ask("POST", "/api/v1/namespaces/default/configmaps", object)).body;
        }),
      );
    }

    /**
     * Invokes the function as a new process, with the objects as they are now; `steps` requests are answered
     * before it is killed.
     */
    async function invoke(
      world: ShelfCloud,
      objects: readonly Record<string, unknown>[],
      steps = Number.POSITIVE_INFINITY,
      onStep?: (step: number) => Promise<unknown> | undefined,
    ): Promise<{ readonly report: Report; readonly steps: number; readonly lines: readonly LogFacts[] }> {
      const lines: LogFacts[] = [];
      const life = createLife(steps, onStep);
      world.before = life.step;
      const run = createControllerFunction(shelfController, {
        clusters: async () => entry,
        cloud: async () => world.cloud,
        api: async () => life.transport(admin),
        now: () => new Date(),
        // All of an invocation takes less than a second.
        monotonicMs: () => 0,
        log: (line) => lines.push(line),
      });
      const event = {
        version: 1,
        id: "event-1",
        cluster: entry.name,
        clusterHash: entry.hash,
        controller: shelfController.name,
        reason: "watch",
        objects,
      };
      const context = { awsRequestId: "1", getRemainingTimeInMillis: () => 30_000 };
      const report = await run(event, context).finally(life.over);
      return { report, steps: life.taken(), lines };
    }

    const now = (objects: readonly Record<string, unknown>[]) =>
      Promise.all(objects.map(async (object) => (await ask("GET", pathOf(nameOf(object)))).body));

    /** Checks the end: one shelf for each ConfigMap, its number written to it, and no number twice. */
    async function expectShelved(
      world: ShelfCloud,
      objects: readonly Record<string, unknown>[],
    ): Promise<void> {
      const stored = await now(objects);
      const numbers = stored.map((object) => dataOf(object)["shelf"]);
      expect(numbers.toSorted()).toEqual(objects.map((_, index) => String(index + 1)));
      for (const object of stored) {
        const { shelf, book } = dataOf(object);
        expect(world.shelves.get(nameOf(object))).toEqual({ number: Number(shelf), books: [book] });
      }
      const rented = world.done.filter((done) => done.startsWith("rent "));
      expect(rented.toSorted()).toEqual(objects.map((object) => `rent ${nameOf(object)}`).toSorted());
    }

    test("go on until nothing is left, and observe the cloud once", async () => {
      const world = createShelfCloud();
      const objects = await wishes(3);
      const { report, lines } = await invoke(world, objects);
      expect(report.objects.map(({ outcome }) => outcome)).toEqual(["changed", "changed", "changed"]);
      expectLogLines(lines);
      // Each change of the cloud has a log line with its object.
      expect(lines.filter(({ event }) => event === "CloudAction")).toHaveLength(6);
      expect(lines).toContainEqual({
        level: "info",
        event: "CloudAction",
        cluster: entry.name,
        controller: shelfController.name,
        eventId: "event-1",
        namespace: "default",
        name: nameOf(objects[0] ?? {}),
        uid: report.objects[0]?.uid,
        action: "rent",
        target: nameOf(objects[0] ?? {}),
      });
      expect(report.objects[0]).toMatchObject({ namespace: "default", name: nameOf(objects[0] ?? {}) });
      await expectShelved(world, objects);
      expect(world.observations).toBe(1);
      expect(report.usage.cloud.calls).toEqual({ DescribeShelves: 1, rent: 3, fill: 3 });
      // The shared write and one patch for each; the state twice, the objects after the shared write and
      // before the first action.
      expect(report.usage.cluster).toMatchObject({ writes: 4, conflicts: 0, reads: 2 + 3 + 3 });
      const again = await invoke(world, await now(objects));
      expect(again.report.objects.map(({ outcome }) => outcome)).toEqual([
        "unchanged",
        "unchanged",
        "unchanged",
      ]);
      expect(again.report.usage.cluster).toMatchObject({ writes: 0 });
    });

    test("killed between any two steps, are finished by the next invocation", async () => {
      const whole = await invoke(createShelfCloud(), await wishes(2));
      expect(whole.steps).toBeGreaterThan(12);
      for (let steps = 0; steps < whole.steps; steps += 1) {
        const world = createShelfCloud();
        const objects = await wishes(2);
        await invoke(world, objects, steps).catch(ignoreKilled);
        await invoke(world, await now(objects));
        await expectShelved(world, objects);
      }
    });

    test("two concurrent functions reserve no number twice and rent nothing twice", async () => {
      const world = createShelfCloud();
      const objects = await wishes(4);
      const both = await Promise.all([invoke(world, objects), invoke(world, objects)]);
      expect(both.flatMap(({ report }) => report.objects.map(({ because }) => because.code))).not.toContain(
        "Failed",
      );
      await invoke(world, await now(objects));
      await expectShelved(world, objects);
    });

    test("end where the object was deleted and made again meanwhile: nothing is done for the other one", async () => {
      const world = createShelfCloud();
      const objects = await wishes(1);
      const [object = {}] = objects;
      let replaced = false;
      const { report } = await invoke(world, objects, undefined, async () => {
        // The shared write is stored, and nothing is rented yet.
        const state = await ask("GET", `/api/v1/namespaces/${STATE.namespace}/configmaps/${STATE.name}`);
        if (replaced || state.status !== 200) return;
        replaced = true;
        await ask("DELETE", pathOf(nameOf(object)));
        const metadata = { name: nameOf(object) };
        await ask("POST", "/api/v1/namespaces/default/configmaps", { ...object, metadata });
      });
      expect(report.objects).toMatchObject([{ outcome: "skipped", because: { code: "Gone" } }]);
      expect(world.done).toEqual([]);
    });

    test("end with a dry run before the shared write", async () => {
      const world = createShelfCloud();
      const objects = await wishes(2);
      const dry = { ...entry, policies: { ...entry.policies, dryRun: true } };
      const wet = entry;
      entry = dry;
      const { report } = await invoke(world, objects);
      entry = wet;
      expect(report.objects).toMatchObject([
        { outcome: "skipped", because: { code: "DryRun" } },
        { outcome: "skipped", because: { code: "DryRun" } },
      ]);
      expect(world.done).toEqual([]);
      expect(
        (await ask("GET", `/api/v1/namespaces/${STATE.namespace}/configmaps/${STATE.name}`)).status,
      ).toBe(404);
    });
  });
}

function nameOf(object: Record<string, unknown>): string {
  return String((object["metadata"] as Record<string, unknown>)["name"]);
}

function dataOf(object: Record<string, unknown>): Record<string, string> {
  return object["data"] as Record<string, string>;
}

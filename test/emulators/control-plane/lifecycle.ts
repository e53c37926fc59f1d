import { describe, expect, test } from "vitest";
import { ApiUnreachable } from "#kube/client/errors.ts";
import {
  ask,
  createNode,
  getNode,
  MERGE_PATCH,
  NODES,
  patchNode,
  type Running,
} from "#test/emulators/control-plane/client.ts";
import { watchNodes } from "#test/emulators/control-plane/watch-stream.ts";
import type { MakeTest } from "#test/setup/parts.ts";

/** Describes stops and starts, and a restored store with connected clients, which `testRestore` tests. */
export function describeLifecycle(running: Running, testRestore: MakeTest): void {
  const versionNow = async (): Promise<number> =>
    Number((await ask(running(), { method: "GET", path: `${NODES}?limit=1` })).metadata.resourceVersion);

  describe("lifecycle", () => {
    test.each(["SIGTERM", "SIGKILL"] as const)(
      "is unreachable after %s, and after a restart has the same address and data",
      async (signal) => {
        const { plane } = running();
        const { name, uid } = (await createNode(running())).metadata;
        await plane.stopServer(signal);
        const gone = ask(running(), { method: "GET", path: NODES });
        await expect(gone).rejects.toThrow(ApiUnreachable);
        await plane.startServer();
        expect(await getNode(running(), name)).toMatchObject({ code: 200, metadata: { uid } });
      },
    );

    test("a version from before the start is too old for a watch: one ERROR, then the end", async () => {
      const { name } = (await createNode(running())).metadata;
      const before = await versionNow();
      await patchNode(running(), name, { metadata: { labels: { a: "b" } } }, MERGE_PATCH);
      await running().plane.stopServer();
      await running().plane.startServer();
      const watch = await watchNodes(running(), `resourceVersion=${before - 1}&timeoutSeconds=5`);
      expect(watch.status).toBe(200);
      expect(await watch.rest()).toMatchObject([
        { type: "ERROR", object: { kind: "Status", reason: "Expired", code: 410 } },
      ]);
    });

    testRestore(
      "after a restore later changes are missing, and their versions are in the future",
      async () => {
        const { plane } = running();
        const kept = (await createNode(running())).metadata;
        const backup = await plane.backup();
        const lost = (await createNode(running())).metadata;
        await patchNode(running(), kept.name, { metadata: { labels: { later: "yes" } } }, MERGE_PATCH);
        // A real server uses some versions for its start.
        for (let count = 0; count < 300; count += 1) {
          await patchNode(running(), lost.name, { metadata: { labels: { count: `${count}` } } }, MERGE_PATCH);
        }
        const future = await versionNow();
        await plane.restore(backup);
        const after = await getNode(running(), kept.name);
        expect(after).toMatchObject({
          code: 200,
          metadata: { uid: kept.uid, resourceVersion: kept.resourceVersion },
        });
        expect(after.metadata.labels?.["later"]).toBeUndefined();
        expect(await getNode(running(), lost.name)).toMatchObject({ code: 404 });
        expect(await versionNow()).toBeLessThan(future);
        const watch = await watchNodes(running(), `resourceVersion=${future}&timeoutSeconds=1`);
        expect(await watch.rest()).toEqual([]);
      },
    );
  });
}

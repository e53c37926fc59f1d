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

/** Stopping and starting, and a store that is set back under its clients, which `testRestore` tests. */
export function describeLifecycle(running: Running, testRestore: MakeTest): void {
  const versionNow = async (): Promise<number> =>
    Number((await ask(running(), { method: "GET", path: `${NODES}?limit=1` })).metadata.resourceVersion);

  describe("lifecycle", () => {
    test.each(["SIGTERM", "SIGKILL"] as const)(
      "stopped by %s it is not there; started again it is, at the same place and with what it had",
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

    test("a version from before the start is too old to watch from: one ERROR, then the end", async () => {
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
      "set back to a backup: what came later is gone, and its versions are from the future",
      async () => {
        const { plane } = running();
        const kept = (await createNode(running())).metadata;
        const backup = await plane.backup();
        const lost = (await createNode(running())).metadata;
        await patchNode(running(), kept.name, { metadata: { labels: { later: "yes" } } }, MERGE_PATCH);
        // Starting takes some versions of its own on a real server.
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

import { describe, expect, test } from "vitest";
import {
  ask,
  createNode,
  createNodeName,
  MERGE_PATCH,
  METADATA_ONLY,
  NODES,
  patchNode,
  type Running,
} from "#test/emulators/control-plane/client.ts";
import { type WatchLine, watchNodes } from "#test/emulators/control-plane/watch-stream.ts";

/** Describes watches: their first lines, their events and their end. */
export function describeWatches(running: Running): void {
  const versionNow = async (): Promise<string> =>
    (await ask(running(), { method: "GET", path: `${NODES}?limit=1` })).metadata.resourceVersion;
  const label = (name: string, labels: object) =>
    patchNode(running(), name, { metadata: { labels } }, MERGE_PATCH);
  const remove = (name: string) => ask(running(), { method: "DELETE", path: `${NODES}/${name}` });

  describe("watches", () => {
    test("sends every change after the list's version once and in order, with the version of each write", async () => {
      const from = await versionNow();
      const { name, resourceVersion } = (await createNode(running())).metadata;
      const labelled = await label(name, { a: "b" });
      const watch = await watchNodes(running(), `resourceVersion=${from}`, { user: "relay" });
      const missed = [await watch.next(), await watch.next()];
      await remove(name);
      const deleted = await watch.next();
      watch.close();
      expect([...missed, deleted].map(told)).toEqual([
        `ADDED ${name} ${resourceVersion}`,
        `MODIFIED ${name} ${labelled.metadata.resourceVersion}`,
        `DELETED ${name} ${deleted?.object.metadata.resourceVersion}`,
      ]);
      expect(Number(deleted?.object.metadata.resourceVersion)).toBeGreaterThan(
        Number(labelled.metadata.resourceVersion),
      );
    });

    test("sends complete objects", async () => {
      const from = await versionNow();
      const { name } = (await createNode(running())).metadata;
      const watch = await watchNodes(running(), `resourceVersion=${from}`);
      const line = await watch.next();
      watch.close();
      expect(line?.object).toMatchObject({ kind: "Node", apiVersion: "v1", metadata: { name }, status: {} });
    });

    test("without a version, starts with the existing objects", async () => {
      const { name } = (await createNode(running())).metadata;
      const watch = await watchNodes(running(), "timeoutSeconds=1");
      const lines = await watch.rest();
      expect(lines.map(({ type }) => type)).toEqual(lines.map(() => "ADDED"));
      expect(lines.map(({ object }) => object.metadata.name)).toContain(name);
    });

    test("ends without an error at its timeout", async () => {
      const watch = await watchNodes(running(), `resourceVersion=${await versionNow()}&timeoutSeconds=1`);
      expect([watch.status, await watch.rest()]).toEqual([200, []]);
    });

    test("with a future version, sends nothing despite later changes", async () => {
      const watch = await watchNodes(
        running(),
        "resourceVersion=999999999&timeoutSeconds=2&allowWatchBookmarks=true",
      );
      await createNode(running());
      expect([watch.status, await watch.rest()]).toEqual([200, []]);
    });

    test("rejects an invalid version as an internal server error", async () => {
      const watch = await watchNodes(running(), "resourceVersion=x");
      watch.close();
      expect(watch.status).toBe(500);
    });

    // A real server sends one about once a minute, which `npm run test:versions` waits for, and one two
    // seconds before a watch ends. It sends none before the first change after its start.
    test("a bookmark has the version of a watch without events", { timeout: 120_000 }, async () => {
      const ends = process.env["KUBERNETES_MINOR"] === undefined ? "&timeoutSeconds=5" : "";
      const query = `allowWatchBookmarks=true&fieldSelector=metadata.name%3Dabsent${ends}`;
      const watch = await watchNodes(running(), `resourceVersion=${await versionNow()}&${query}`);
      const { resourceVersion } = (await createNode(running())).metadata;
      const bookmark = await watch.next();
      watch.close();
      expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { kind: "Node", apiVersion: "v1" } });
      expect(Object.keys(bookmark?.object.metadata ?? {})).toEqual(["resourceVersion"]);
      expect(Number(bookmark?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
        Number(resourceVersion),
      );
    });

    test("selects by label: an object is ADDED when it begins to match, and DELETED when it stops", async () => {
      const group = createNodeName("group");
      const { name } = (await createNode(running())).metadata;
      const from = await versionNow();
      await label(name, { group });
      await label(name, { other: "x" });
      await label(name, { group: null });
      await label(name, { other: "y" });
      const watch = await watchNodes(
        running(),
        `resourceVersion=${from}&timeoutSeconds=1&labelSelector=group%3D${group}`,
      );
      const types = (await watch.rest()).map(({ type }) => type);
      expect(types).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    });

    test("selects by name", async () => {
      const from = await versionNow();
      const { name } = (await createNode(running())).metadata;
      await createNode(running());
      const watch = await watchNodes(
        running(),
        `resourceVersion=${from}&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}`,
      );
      expect((await watch.rest()).map(({ object }) => object.metadata.name)).toEqual([name]);
    });

    test("sends only metadata on request", async () => {
      const from = await versionNow();
      await createNode(running());
      const watch = await watchNodes(running(), `resourceVersion=${from}`, { accept: METADATA_ONLY });
      const line = await watch.next();
      watch.close();
      expect(line).toMatchObject({
        type: "ADDED",
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" },
      });
      expect(line?.object.spec).toBeUndefined();
    });

    test("shows a deleted and recreated node as two events", async () => {
      const from = await versionNow();
      const first = (await createNode(running())).metadata;
      await remove(first.name);
      const second = (await createNode(running(), { name: first.name })).metadata;
      const watch = await watchNodes(running(), `resourceVersion=${from}&timeoutSeconds=1`);
      const lines = (await watch.rest()).map(({ type, object }) => `${type} ${object.metadata.uid}`);
      expect(lines).toEqual([`ADDED ${first.uid}`, `DELETED ${first.uid}`, `ADDED ${second.uid}`]);
    });
  });
}

function told(line: WatchLine | undefined): string {
  return `${line?.type} ${line?.object.metadata.name} ${line?.object.metadata.resourceVersion}`;
}

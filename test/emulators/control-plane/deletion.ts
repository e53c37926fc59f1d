import { describe, expect, test } from "vitest";
import {
  type Answered,
  ask,
  createNode,
  getNode,
  MERGE_PATCH,
  NODES,
  patchNode,
  type Running,
} from "#test/emulators/control-plane/client.ts";

/** Describes deletions, their preconditions, and nodes with finalizers. */
export function describeDeletion(running: Running): void {
  const remove = (name: string, body?: unknown): Promise<Answered> =>
    ask(running(), { method: "DELETE", path: `${NODES}/${name}`, ...(body === undefined ? {} : { body }) });

  describe("deletion", () => {
    test("deletes a node, and confirms it with its uid", async () => {
      const { name, uid } = (await createNode(running())).metadata;
      const deleted = await remove(name);
      expect(deleted).toMatchObject({ code: 200, kind: "Status", status: "Success", details: { uid } });
      expect(await getNode(running(), name)).toMatchObject({ code: 404, reason: "NotFound" });
    });

    test("answers 404 for a missing node", async () => {
      expect(await remove("absent")).toMatchObject({ code: 404, reason: "NotFound" });
    });

    test.each([
      { given: "another uid", preconditions: { uid: "other" }, words: "the UID in the precondition (other)" },
      {
        given: "another resourceVersion",
        preconditions: { resourceVersion: "1" },
        words: "the ResourceVersion in the precondition (1)",
      },
    ])("$given as precondition is a conflict", async ({ preconditions, words }) => {
      const { name } = (await createNode(running())).metadata;
      const refused = await remove(name, { preconditions });
      expect(refused).toMatchObject({
        code: 409,
        reason: "Conflict",
        message: expect.stringContaining(words),
      });
      expect(await getNode(running(), name)).toMatchObject({ code: 200 });
    });

    test("deletes if the preconditions hold", async () => {
      const { name, uid, resourceVersion } = (await createNode(running())).metadata;
      expect(await remove(name, { preconditions: { uid, resourceVersion } })).toMatchObject({ code: 200 });
      expect(await getNode(running(), name)).toMatchObject({ code: 404 });
    });

    test("a node with a finalizer is only marked by repeated deletions, and disappears without the finalizer", async () => {
      const finalizers = ["example.com/keep"];
      const { name } = (await createNode(running(), { metadata: { finalizers } })).metadata;
      const first = await remove(name);
      const second = await remove(name);
      expect(first).toMatchObject({
        code: 200,
        kind: "Node",
        metadata: { deletionTimestamp: expect.any(String) },
      });
      expect(second.metadata).toEqual(first.metadata);
      await patchNode(running(), name, { metadata: { finalizers: null } }, MERGE_PATCH);
      expect(await getNode(running(), name)).toMatchObject({ code: 404 });
    });

    test("a new node of the same name has another uid", async () => {
      const { name, uid } = (await createNode(running())).metadata;
      await remove(name);
      expect((await createNode(running(), { name })).metadata.uid).not.toBe(uid);
    });
  });
}

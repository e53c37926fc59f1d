import { describe, expect, test, vi } from "vitest";
import {
  type Answered,
  ask,
  createNode,
  freshName,
  METADATA_ONLY,
  NODES,
  type Running,
} from "#test/emulators/control-plane/client.ts";

/** Lists: paging, versions, selectors, and what cannot be listed. */
export function describeLists(running: Running): void {
  const list = (query: string, accept?: string): Promise<Answered> =>
    ask(running(), { method: "GET", path: `${NODES}?${query}`, ...(accept === undefined ? {} : { accept }) });

  /** Nodes of their own, told from all others by a label. */
  const createGroup = async (
    size: number,
  ): Promise<{ readonly selector: string; readonly names: string[] }> => {
    const group = freshName("group");
    const names: string[] = [];
    for (let count = 0; count < size; count += 1) {
      names.push((await createNode(running(), { metadata: { labels: { group } } })).metadata.name);
    }
    return { selector: `labelSelector=group%3D${group}`, names };
  };

  describe("lists", () => {
    test("pages hold what was there at the first one, however things went on", async () => {
      const prefix = freshName("paged");
      for (const suffix of ["a", "b", "c", "d"]) await createNode(running(), { name: `${prefix}-${suffix}` });
      const before = namesOf(await list(""));
      const first = await list("limit=2");
      await ask(running(), { method: "DELETE", path: `${NODES}/${prefix}-d` });
      await createNode(running(), { name: `${prefix}-aa` });
      const listed = [...namesOf(first)];
      let page = first;
      while (page.metadata.continue !== undefined) {
        page = await list(`limit=2&continue=${page.metadata.continue}`);
        expect(page).toMatchObject({
          code: 200,
          metadata: { resourceVersion: first.metadata.resourceVersion },
        });
        listed.push(...namesOf(page));
      }
      expect(listed).toEqual(before);
    });

    test("a page tells how many are left, the last one nothing", async () => {
      for (let count = 0; count < 3; count += 1) await createNode(running());
      const total = namesOf(await list("")).length;
      const first = await list("limit=2");
      const last = await list(`limit=${total}&continue=${first.metadata.continue}`);
      expect(first.metadata.remainingItemCount).toBe(total - 2);
      expect(last.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
    });

    test("items have no kind and no apiVersion, the list has", async () => {
      await createNode(running());
      const { kind, apiVersion, items = [] } = await list("limit=1");
      expect({ kind, apiVersion }).toEqual({ kind: "NodeList", apiVersion: "v1" });
      expect(Object.keys(items[0] ?? {}).sort()).toEqual(["metadata", "spec", "status"]);
    });

    test("resourceVersion=0 ignores the limit", async () => {
      const { names } = await createGroup(3);
      // It is answered from a cache, which may be behind for a moment.
      const everything = await vi.waitFor(async () => {
        const listed = await list("limit=1&resourceVersion=0");
        expect(namesOf(listed)).toEqual(expect.arrayContaining(names));
        return listed;
      });
      expect(everything.metadata.continue).toBeUndefined();
    });

    test("metadata alone, where only that is asked for", async () => {
      const { selector, names } = await createGroup(1);
      const listed = await list(selector, METADATA_ONLY.replace("Metadata", "MetadataList"));
      expect(listed.kind).toBe("PartialObjectMetadataList");
      expect(listed.items).toMatchObject([{ kind: "PartialObjectMetadata", metadata: { name: names[0] } }]);
      expect(listed.items?.[0]?.spec).toBeUndefined();
    });

    test("selected by label and by name", async () => {
      const { selector, names } = await createGroup(2);
      const [first = "", second] = names;
      expect(namesOf(await list(selector))).toEqual([first, second]);
      expect(namesOf(await list(`${selector}&fieldSelector=metadata.name%3D${first}`))).toEqual([first]);
      expect(namesOf(await list(`${selector}&fieldSelector=metadata.name!%3D${first}`))).toEqual([second]);
    });

    test("a selected page does not tell how many are left", async () => {
      const { selector } = await createGroup(2);
      const { metadata } = await list(`limit=1&${selector}`);
      expect(metadata).toMatchObject({ continue: expect.any(String) });
      expect(metadata.remainingItemCount).toBeUndefined();
    });

    test.each([
      {
        given: "a version from the future",
        query: "resourceVersion=999999999",
        answer: {
          code: 504,
          reason: "Timeout",
          details: { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 },
        },
      },
      {
        given: "a version that is none",
        query: "resourceVersion=x",
        answer: { code: 400, reason: "BadRequest" },
      },
      { given: "a limit that is none", query: "limit=x", answer: { code: 400, reason: "BadRequest" } },
      {
        given: "a token that is none",
        query: "limit=1&continue=x",
        answer: { code: 400, reason: "BadRequest" },
      },
      {
        given: "a field that cannot be selected by",
        query: "fieldSelector=spec.providerID%3Dx",
        answer: { code: 400, message: "field label not supported: spec.providerID" },
      },
    ])("$given: $answer.code", async ({ query, answer }) => {
      expect(await list(query)).toMatchObject({ kind: "Status", ...answer });
    });

    test("one object's metadata is no answer to a list", async () => {
      expect(await list("", METADATA_ONLY)).toMatchObject({ code: 406, reason: "NotAcceptable" });
    });
  });
}

function namesOf({ items = [] }: Answered): string[] {
  return items.map(({ metadata }) => metadata.name);
}

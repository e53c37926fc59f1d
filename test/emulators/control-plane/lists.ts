import { describe, expect, test, vi } from "vitest";
import {
  type Answered,
  ask,
  createNode,
  createNodeName,
  METADATA_ONLY,
  NODES,
  type Running,
} from "#test/emulators/control-plane/client.ts";
import { WAIT } from "#test/wait-until-true.ts";

/** Describes lists: paging, versions, selectors, and invalid lists. */
export function describeLists(running: Running): void {
  const list = (query: string, accept?: string): Promise<Answered> =>
    ask(running(), { method: "GET", path: `${NODES}?${query}`, ...(accept === undefined ? {} : { accept }) });

  /** Creates nodes with their own label. */
  const createGroup = async (
    size: number,
  ): Promise<{ readonly selector: string; readonly names: string[] }> => {
    const group = createNodeName("group");
    const names: string[] = [];
    for (let count = 0; count < size; count += 1) {
      names.push((await createNode(running(), { metadata: { labels: { group } } })).metadata.name);
    }
    return { selector: `labelSelector=group%3D${group}`, names };
  };

  describe("lists", () => {
    test("pages contain the state at the first page, despite later changes", async () => {
      const prefix = createNodeName("paged");
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

    test("a page has the number of remaining items, the last one omits it", async () => {
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
      // The answer comes from a cache, which may be behind for a moment.
      const everything = await vi.waitFor(async () => {
        const listed = await list("limit=1&resourceVersion=0");
        expect(namesOf(listed)).toEqual(expect.arrayContaining(names));
        return listed;
      }, WAIT);
      expect(everything.metadata.continue).toBeUndefined();
    });

    test("returns only metadata on request", async () => {
      const { selector, names } = await createGroup(1);
      const listed = await list(selector, METADATA_ONLY.replace("Metadata", "MetadataList"));
      expect(listed.kind).toBe("PartialObjectMetadataList");
      expect(listed.items).toMatchObject([{ kind: "PartialObjectMetadata", metadata: { name: names[0] } }]);
      expect(listed.items?.[0]?.spec).toBeUndefined();
    });

    test("selects by label and by name", async () => {
      const { selector, names } = await createGroup(2);
      const [first = "", second] = names;
      expect(namesOf(await list(selector))).toEqual([first, second]);
      expect(namesOf(await list(`${selector}&fieldSelector=metadata.name%3D${first}`))).toEqual([first]);
      expect(namesOf(await list(`${selector}&fieldSelector=metadata.name!%3D${first}`))).toEqual([second]);
    });

    test("a selected page omits the number of remaining items", async () => {
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
        given: "an invalid version",
        query: "resourceVersion=x",
        answer: { code: 400, reason: "BadRequest" },
      },
      { given: "an invalid limit", query: "limit=x", answer: { code: 400, reason: "BadRequest" } },
      {
        given: "an invalid token",
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

    test("rejects one object's metadata as the form of a list", async () => {
      expect(await list("", METADATA_ONLY)).toMatchObject({ code: 406, reason: "NotAcceptable" });
    });
  });
}

function namesOf({ items = [] }: Answered): string[] {
  return items.map(({ metadata }) => metadata.name);
}

import { expect, test } from "vitest";
import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";

const Document = z.strictObject({
  objects: z.array(z.object({ metadata: z.object({ uid: z.string() }) })).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

test.each([
  ["the whole", 7, [""]],
  ["a member", { objects: 7 }, ["objects"]],
  [
    "a member of an element",
    { objects: [{ metadata: { uid: "u" } }, { metadata: {} }] },
    ["objects[1].metadata.uid"],
  ],
  ["a key that is no word", { labels: { "example.com/rack": 7 } }, ['labels["example.com/rack"]']],
  ["two at once", { objects: [7], labels: { a: 7 } }, ["objects[0]", "labels.a"]],
  ["an unknown key", { object: [] }, [""]],
])("names the wrong %s", (_, value, paths) => {
  const { error } = Document.safeParse(value);
  expect(error && listFaults(error).map(({ path }) => path)).toEqual(paths);
});

test("never quotes a value", () => {
  const { error } = z.object({ token: z.literal("a") }).safeParse({ token: "hunter2" });
  expect(error && JSON.stringify(listFaults(error))).not.toContain("hunter2");
});

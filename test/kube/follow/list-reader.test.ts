import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createListReader } from "#kube/follow/list-reader.ts";

/** Reads a text in chunks of these lengths, the last of which repeats. */
function read(text: string | Buffer, lengths: readonly number[] = [7]): unknown {
  const bytes = Buffer.from(text);
  const items: unknown[] = [];
  const reader = createListReader((object) => items.push(object));
  try {
    for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
      const end = start + (lengths[Math.min(turn, lengths.length - 1)] ?? 7);
      reader.add(bytes.subarray(start, end));
      start = end;
    }
    return { metadata: reader.end(), items };
  } catch (error) {
    if (error instanceof SyntaxError) return "invalid";
    throw error;
  }
}

/** What `JSON.parse` of the whole text returns. */
function parse(text: string): unknown {
  try {
    const { items, metadata } = JSON.parse(text);
    const list: unknown = items ?? [];
    if (!Array.isArray(list) || typeof metadata !== "object" || metadata === null) return "invalid";
    return { metadata, items: list };
  } catch {
    return "invalid";
  }
}

const META = '"metadata":{"resourceVersion":"7","continue":"x"}';

describe("reads a list as JSON.parse does:", () => {
  test.each([
    ["objects", `{"kind":"NodeList",${META},"items":[{"a":1},{"b":[{},[]]}]}\n`],
    ["metadata after the objects", `{"items":[{"a":1}],${META}}`],
    ["no objects", `{${META},"items":[]}`],
    ["white space instead of objects", `{${META},"items":[ \n\t ]}`],
    ["null instead of objects", `{${META},"items":null}`],
    ["no items", `{${META}}`],
    ["white space everywhere", ` { ${META} , "items" : [ { "a" : 1 } , 2 ] } `],
    [
      "more white space before the objects than a key may have",
      `{${META},"items":${" ".repeat(200)}[{"a":1}]}`,
    ],
    ["values that are no objects", `{${META},"items":[1,"two",null,true,[3],-4e5]}`],
    [
      "brackets and quotation marks in strings",
      `{${META},"items":[{"a":"]},{\\"[\\\\"},{"b\\"]":"\\\\\\\\"}]}`,
    ],
    ["items of another depth", `{"a":{"items":[1]},"b":[{"items":[2]}],${META},"items":[{"items":[3]}]}`],
    ["a key that ends like items", `{"\\"items":[1],"x,\\"items":[2],${META},"items":[3]}`],
    ["an escaped key", `{${META},"it\\u0065ms":[{"a":1}]}`],
    ["characters of several bytes", `{${META},"items":[{"ä":"€𝄞"},{"日本":"語"}]}`],
    ["__proto__", `{${META},"items":[{"__proto__":{"x":1}}]}`],
    ["items that are no array", `{${META},"items":{"a":[1]}}`],
    ["a text", `"${META.replaceAll('"', "'")}"`],
    ["null", "null"],
    ["an array", "[1,2]"],
    ["nothing", ""],
    ["no metadata", '{"items":[1]}'],
    ["a comma before the first object", `{${META},"items":[,1]}`],
    ["a comma after the last object", `{${META},"items":[1,]}`],
    ["two commas", `{${META},"items":[1,,2]}`],
    ["objects without a comma", `{${META},"items":[{} {}]}`],
    ["a wrong bracket after the objects", `{${META},"items":[{}}}`],
    ["a wrong bracket in an object", `{${META},"items":[{"a":[1},{"b":2]}]}`],
    ["white space of other kinds", `{${META},"items":[\u00a0]}`],
    ["an end in the middle", `{${META},"items":[{"a":1},{"b"`],
    ["an end after the objects", `{${META},"items":[{"a":1}]`],
    ["more after the end", `{${META},"items":[{"a":1}]}]`],
    ["a bracket too many", `{${META},"items":[{"a":1}]],"b":[]}`],
  ])("%s", (_, text) => {
    for (const lengths of [[1], [2], [3, 64], [1_000]]) expect(read(text, lengths)).toEqual(parse(text));
  });

  test("any list, in any chunks", () => {
    const text = fc.record({
      metadata: fc.dictionary(fc.string(), fc.json()),
      items: fc.array(fc.jsonValue()),
    });
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
    fc.assert(
      fc.property(text, fc.constantFrom(0, 1), lengths, (list, indent, each) => {
        const written = JSON.stringify(list, undefined, indent);
        expect(read(written, each)).toEqual(parse(written));
      }),
    );
  });

  test("any text that resembles one, valid or not", () => {
    const parts = [
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      "\\",
      '"items":[',
      '"metadata":{}',
      "{}",
      "1",
      " ",
      '"a"',
      "\\u",
    ];
    const text = fc.array(fc.constantFrom(...parts), { maxLength: 14 }).map((each) => each.join(""));
    fc.assert(
      fc.property(text, fc.constantFrom("", `{${META},"items":[`), fc.boolean(), (middle, head, isClosed) => {
        const written = `${head}${middle}${isClosed ? "]}" : ""}`;
        // Two lists of objects in one are rejected, whichever `JSON.parse` returns.
        if (written.split('"items"').length > 2) return;
        expect(read(written, [1, 5])).toEqual(parse(written));
      }),
      { numRuns: 5_000 },
    );
  });
});

test("rejects two lists of objects", () => {
  expect(read(`{${META},"items":[1],"items":[2]}`)).toBe("invalid");
  expect(read(`{${META},"items":[1],"items":null}`)).toBe("invalid");
  expect(read(`{${META},"it\\u0065ms":[2],"items":[1]}`)).toEqual(parse(`{${META},"items":[1]}`));
});

test("delivers an object as soon as it is complete", () => {
  const items: unknown[] = [];
  const reader = createListReader((object) => items.push(object));
  reader.add(Buffer.from(`{${META},"items":[{"a":1},{"b"`));
  expect(items).toEqual([{ a: 1 }]);
});

import { expect, test } from "vitest";
import { type Schema, SchemaValidator, type ValueRole } from "#test/openapi/schema.ts";

const REFERENCE = "#/components/schemas/";
const VALIDATOR = new SchemaValidator({
  Thing: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string" },
      count: { type: "integer", format: "int32" },
      size: { type: "integer", format: "int64" },
      ratio: { type: "number" },
      on: { type: "boolean" },
      effect: { type: "string", enum: ["NoSchedule", "NoExecute"] },
      at: { $ref: `${REFERENCE}Time` },
      exactly: { $ref: `${REFERENCE}io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime` },
      bytes: { type: "string", format: "byte" },
      amount: { $ref: `${REFERENCE}io.k8s.apimachinery.pkg.api.resource.Quantity` },
      port: { oneOf: [{ type: "integer" }, { type: "string" }] },
      labels: { type: "object", additionalProperties: { type: "string" } },
      items: { type: "array", items: { allOf: [{ $ref: `${REFERENCE}Thing` }] } },
      open: { type: "object" },
    },
  },
  Time: { type: "string", format: "date-time" },
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": { type: "string", format: "date-time" },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { oneOf: [{ type: "string" }, { type: "number" }] },
});
const THING: Schema = { $ref: `${REFERENCE}Thing` };

const validate = (value: unknown, role: ValueRole = "answered"): readonly string[] =>
  VALIDATOR.validate(THING, value, role).map(({ pointer, rule }) => `${pointer} ${rule}`);

test("a valid object has no issue", () => {
  const value = {
    name: "a",
    count: -1,
    size: 2 ** 40,
    ratio: 0.5,
    on: false,
    effect: "NoExecute",
    at: "2026-01-02T03:04:05Z",
    exactly: "2026-01-02T03:04:05.123456Z",
    bytes: "YQ==",
    amount: "500Mi",
    port: "http",
    labels: { "a/b": "c" },
    items: [{ name: "b", items: [] }],
    open: { any: [1] },
  };
  expect(validate(value)).toEqual([]);
  expect(validate({ name: "a", at: null, exactly: null, bytes: null })).toEqual([]);
});

test.each<[given: string, value: unknown, issue: string]>([
  ["an unknown field", { name: "a", nam: "b" }, "/nam unknown field"],
  ["an unknown field within a list", { name: "a", items: [{ name: "b", x: 1 }] }, "/items/0/x unknown field"],
  ["a missing field", {}, "/name required"],
  ["a missing field within a list", { name: "a", items: [{}] }, "/items/0/name required"],
  ["null", { name: null }, "/name type: string, found null"],
  ["a list as an object", [], " type: object, found array"],
  ["an object as a list", { name: "a", items: {} }, "/items type: array, found object"],
  ["a fraction as an integer", { name: "a", count: 1.5 }, "/count type: integer, found number"],
  ["an integer of too many bits", { name: "a", count: 2 ** 31 }, "/count format: int32, found 2147483648"],
  ["a text as a boolean", { name: "a", on: "true" }, "/on type: boolean, found string"],
  ["a value outside of an enum", { name: "a", effect: "Never" }, "/effect enum: NoSchedule, NoExecute"],
  ["a time with a fraction", { name: "a", at: "2026-01-02T03:04:05.1Z" }, "/at format: date-time"],
  ["a time without a zone", { name: "a", at: "2026-01-02T03:04:05" }, "/at format: date-time"],
  ["a day that no month has", { name: "a", at: "2026-13-02T03:04:05Z" }, "/at format: date-time"],
  ["a micro time of milliseconds", { name: "a", exactly: "2026-01-02T03:04:05.123Z" }, "/exactly format"],
  ["bytes that are no base64", { name: "a", bytes: "a" }, "/bytes format: byte"],
  ["a quantity with a wrong unit", { name: "a", amount: "5 MB" }, "/amount a quantity"],
  ["no type of oneOf", { name: "a", port: true }, "/port oneOf: integer or string, found boolean"],
  ["a map's wrong value", { name: "a", labels: { "a/b": 1 } }, "/labels/a~1b type: string, found number"],
])("finds %s", (_, value, issue) => {
  expect(validate(value)).toEqual([expect.stringContaining(issue)]);
});

test("a request may have times with fractions, but no null bytes", () => {
  expect(validate({ name: "a", at: "2026-01-02T03:04:05.1+01:00" }, "sent")).toEqual([]);
  expect(validate({ name: "a", bytes: null }, "sent")).toEqual(["/bytes type: string, found null"]);
});

test("a merge patch requires nothing and may delete, but its lists are whole", () => {
  expect(validate({ count: null, labels: { a: null } }, "merged")).toEqual([]);
  expect(validate({ x: null, count: "1" }, "merged")).toEqual([
    "/x unknown field",
    "/count type: integer, found string",
  ]);
  expect(validate({ items: [{}] }, "merged")).toEqual(["/items/0/name required"]);
});

test("a pointer addresses members, values of maps, and items", () => {
  expect(VALIDATOR.locate(THING, "/items/0/labels/a~1b")).toEqual({ type: "string" });
  expect(VALIDATOR.locate(THING, "/items/-/count")).toMatchObject({ type: "integer" });
  expect(VALIDATOR.locate(THING, "/open/anything/below")).toEqual({});
  expect(VALIDATOR.locate(THING, "/items/first")).toBeUndefined();
  expect(VALIDATOR.locate(THING, "/nam")).toBeUndefined();
  expect(VALIDATOR.locate(THING, "/name/below")).toBeUndefined();
});

test("a reference that leads nowhere is an error of the document", () => {
  const validator = new SchemaValidator({});
  expect(() => validator.validate(THING, {}, "sent")).toThrow("the document has no schema");
});

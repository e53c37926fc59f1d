import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listNeededParts, listPartsIn } from "#test/setup/needed-parts.ts";
import { getPart, type Parts } from "#test/setup/parts.ts";

const ROOT = new URL("../../", import.meta.url);
const CALLS = /\b(?:describeWithPart|describeWithBoth|testWithPart|getPart)\(/g;
const LITERAL_CALLS = /\b(?:describeWithBoth\(|(?:describeWithPart|testWithPart|getPart)\(\s*"[a-z0-9-]+")/g;
/** The definitions, and this test. */
const LEFT_OUT = new Set(["test/setup/parts.ts", "test/setup/needed-parts.test.ts"]);

const read = (file: string): string => readFileSync(new URL(file, ROOT), "utf8");

// The calls are composed, so that the setup does not find them in this file.
const call = (name: string, values: string): string => `${name}(${values}`;

test.each([
  ["a part", call("describeWithPart", '"moto", "on moto", () => {'), ["moto"]],
  ["a part in the next line", call("describeWithPart", '\n  "control-plane",\n'), ["control-plane"]],
  ["both", call("describeWithBoth", '"a title", () => {'), ["moto", "control-plane"]],
  ["a part of one test", call("testWithPart", '"kubectl")("a title"'), ["kubectl"]],
  ["a part twice", call("testWithPart", `"kubectl"); ${call("describeWithPart", '"kubectl"')}`), ["kubectl"]],
  ["no part", 'import { describeWithPart } from "#test/setup/parts.ts";', []],
])("a test file names %s", (_, text, parts) => {
  expect(listPartsIn(text)).toEqual(parts);
});

test("a run of rights alone needs no part, and one of alerts needs promtool", () => {
  const paths = (...files: string[]): string[] => files.map((file) => new URL(file, ROOT).pathname);
  expect(listNeededParts(paths("test/infra/rights.test.ts"))).toEqual([]);
  expect(listNeededParts(paths("test/infra/rights.test.ts", "test/infra/monitoring/alerts.test.ts"))).toEqual(
    ["promtool"],
  );
});

test("each file that needs a part names it in its own calls, where the setup finds it", () => {
  const files = globSync("test/**/*.ts", { cwd: ROOT }).filter((file) => !LEFT_OUT.has(file));
  const calling = files.filter((file) => read(file).match(CALLS) !== null);
  expect(calling.length).toBeGreaterThan(50);
  const isRun = (file: string): boolean => /\.(?:test|sharding)\.ts$/.test(file);
  expect(
    calling.filter((file) => !isRun(file)),
    "call describeWithPart in the test file itself",
  ).toEqual([]);
  expect(
    calling.filter((file) => read(file).match(CALLS)?.length !== read(file).match(LITERAL_CALLS)?.length),
    "name the part as a text in the call",
  ).toEqual([]);
});

test("a part that no call names is an error, and not a skipped suite", () => {
  const unnamed = "a part of the future" as keyof Parts;
  expect(() => getPart(unnamed)).toThrow(`name ${unnamed} in a call of describeWithPart`);
});

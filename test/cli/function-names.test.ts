import { expect, test } from "vitest";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { type FunctionFlags, readFunctionNames } from "#cli/function-names.ts";

const ONE = { "cloud-node-controller": "node" };
const TWO = { "cloud-node-controller": "node", "other-controller": "other" };

function read(flags: FunctionFlags, files: Readonly<Record<string, string>>) {
  const faults: ConfigurationFault[] = [];
  const nameOf = readFunctionNames(flags, faults, files) as (controller: string) => string;
  return { names: Object.keys(files).map(nameOf), faults };
}

test.each<[string, FunctionFlags, Readonly<Record<string, string>>, string[]]>([
  ["a prefix", { functionPrefix: "p-" }, ONE, ["p-node"]],
  ["a prefix of several", { functionPrefix: "p-" }, TWO, ["p-node", "p-other"]],
  ["an ARN", { functionArn: "arn:x" }, ONE, ["arn:x"]],
])("%s names the function of each controller", (_, flags, files, names) => {
  expect(read(flags, files)).toEqual({ names, faults: [] });
});

test.each<[string, FunctionFlags, Readonly<Record<string, string>>, string, string]>([
  ["neither", {}, ONE, "--function-prefix", "one of the two"],
  ["both", { functionPrefix: "p-", functionArn: "arn:x" }, ONE, "--function-prefix", "one of the two"],
  ["an ARN for several functions", { functionArn: "arn:x" }, TWO, "--function-arn", "2 (node, other)"],
])("%s is a fault", (_, flags, files, name, message) => {
  expect(read(flags, files).faults).toEqual([{ name, message: expect.stringContaining(message) }]);
});

test("the functions are those that are built", () => {
  const faults: ConfigurationFault[] = [];
  expect(readFunctionNames({ functionPrefix: "p-" }, faults)("cloud-node-controller")).toBe("p-node");
  expect(faults).toEqual([]);
});

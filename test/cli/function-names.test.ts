import { expect, test } from "vitest";
import { checkOneFunction, type FunctionFlags, readFunctionNames } from "#cli/relay/function-names.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

const NODE = { name: "cloud-node-controller", functionName: "node" };
const OTHER = { name: "other-controller", functionName: "other" };

function read(flags: FunctionFlags, watches: readonly (typeof NODE)[]) {
  const faults: ConfigurationFault[] = [];
  const nameOf = readFunctionNames(flags, faults, watches);
  return { names: watches.map(({ name }) => nameOf(name)), faults };
}

test.each<[string, FunctionFlags, readonly (typeof NODE)[], string[]]>([
  ["a prefix", { functionPrefix: "p-" }, [NODE], ["p-node"]],
  ["a prefix of several", { functionPrefix: "p-" }, [NODE, OTHER], ["p-node", "p-other"]],
  ["an ARN", { functionArn: "arn:x" }, [NODE], ["arn:x"]],
])("%s names the function of each controller", (_, flags, watches, names) => {
  expect(read(flags, watches)).toEqual({ names, faults: [] });
});

test.each<[string, FunctionFlags, readonly (typeof NODE)[], string, string]>([
  ["neither", {}, [NODE], "--function-prefix", "one of the two"],
  ["both", { functionPrefix: "p-", functionArn: "arn:x" }, [NODE], "--function-prefix", "one of the two"],
])("%s is a fault", (_, flags, watches, name, message) => {
  expect(read(flags, watches).faults).toEqual([{ name, message: expect.stringContaining(message) }]);
});

test("the functions are those of the existing controllers", () => {
  const faults: ConfigurationFault[] = [];
  expect(readFunctionNames({ functionPrefix: "p-" }, faults)("cloud-node-controller")).toBe("p-node");
  expect(faults).toEqual([]);
});

test.each([
  ["an ARN for a controller", { functionArn: "arn:x" }, [NODE.name, NODE.name], []],
  ["an ARN for controllers that there are not", { functionArn: "arn:x" }, [NODE.name, "route"], []],
  ["a prefix for several", { functionPrefix: "p-" }, [NODE.name, OTHER.name], []],
  ["an ARN for several", { functionArn: "arn:x" }, [NODE.name, OTHER.name], ["(node, other)"]],
])("%s", (_, flags, controllers, messages) => {
  const faults = checkOneFunction(flags, controllers, [NODE, OTHER]);
  expect(faults).toEqual(
    messages.map((message) => ({ name: "--function-arn", message: expect.stringContaining(message) })),
  );
});

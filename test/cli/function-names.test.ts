import { expect, test } from "vitest";
import {
  checkOneFunction,
  type FunctionFlags,
  readFunctionNames,
  readPlatformName,
  readRegion,
} from "#cli/relay/function-names.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { http } from "#platforms/http/platform.ts";

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
  [
    "a URL template",
    { platform: "http", functionUrl: "https://{function}.example.com/{function}" },
    [NODE, OTHER],
    ["https://node.example.com/node", "https://other.example.com/other"],
  ],
])("%s names the function of each controller", (_, flags, watches, names) => {
  expect(read(flags, watches)).toEqual({ names, faults: [] });
});

test.each<[string, FunctionFlags, readonly (typeof NODE)[], string, string]>([
  ["neither", {}, [NODE], "--function-prefix", "one of the two"],
  ["both", { functionPrefix: "p-", functionArn: "arn:x" }, [NODE], "--function-prefix", "one of the two"],
  ["no URL", { platform: "http" }, [NODE], "--function-url", "is missing"],
  [
    "a URL without TLS",
    { platform: "http", functionUrl: "http://fns.example.com/{function}" },
    [NODE],
    "--function-url",
    "plain http",
  ],
  [
    "a prefix for HTTP",
    { platform: "http", functionUrl: "https://fns.example.com/{function}", functionPrefix: "p-" },
    [NODE],
    "--function-prefix",
    "is for --platform lambda",
  ],
  [
    "a URL for Lambda",
    { functionPrefix: "p-", functionUrl: "https://fns.example.com/{function}" },
    [NODE],
    "--function-url",
    "is for --platform http",
  ],
  [
    "a token for Lambda",
    { functionPrefix: "p-", functionTokenFile: "token" },
    [NODE],
    "--function-token-file",
    "is for --platform http",
  ],
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

test("Lambda is the platform by default, and an unknown one is a fault", () => {
  const faults: ConfigurationFault[] = [];
  expect([readPlatformName(undefined, faults), readPlatformName("http", faults), faults]).toEqual([
    "lambda",
    "http",
    [],
  ]);
  readPlatformName("moon", faults);
  expect(faults).toEqual([
    { name: "--platform", message: '"moon" is not a function platform; give http or lambda' },
  ]);
});

test("functions over HTTP have no region", async () => {
  const faults: ConfigurationFault[] = [];
  expect([await readRegion(http, undefined, faults), faults]).toEqual([undefined, []]);
  await readRegion(http, "eu-central-1", faults);
  expect(faults).toEqual([{ name: "--region", message: expect.stringContaining("no region; leave it out") }]);
});

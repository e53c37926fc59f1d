import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";
import {
  createConstantKeysPlugin,
  removeErrors,
  replaceConstantKeys,
} from "../../build/constant-keys-plugin.ts";

describe("computed keys", () => {
  const constants = 'const _xN = "xmlName";\nconst _i = "in:put";\nlet _no = "changes";\n';
  const rows = [
    ["a constant's name", "[0, { [_xN]: _i }]", '[0, { "xmlName": _i }]'],
    ["two of them", "{ [_xN]: 1, [_i]: 2 }", '{ "xmlName": 1, "in:put": 2 }'],
    ["what is no constant", "{ [_no]: 1 }", "{ [_no]: 1 }"],
    ["what the module does not define", "{ [_other]: 1 }", "{ [_other]: 1 }"],
    ["what is computed further", "{ [_xN + 1]: 1 }", "{ [_xN + 1]: 1 }"],
    ["an element of an array", "[[_xN], 0]", "[[_xN], 0]"],
  ] as const;

  test.each(rows)("%s", (_, given, expected) => {
    expect(replaceConstantKeys(`${constants}export const shape = ${given};`)).toBe(
      `${constants}export const shape = ${expected};`,
    );
  });
});

test("removes registrations of errors, and keeps the client's base class and everything else", () => {
  const stays = [
    "_s_registry.registerError(SSMServiceException$, SSMServiceException);",
    'export var ParameterNotFound$ = [-3, n0, "ParameterNotFound", {}, [], []];',
  ];
  const source = [stays[0], "n0_registry.registerError(ParameterNotFound$, ParameterNotFound);", stays[1]];
  expect(removeErrors(source.join("\n")).split("\n")).toEqual([stays[0], "", stays[1]]);
});

describe("the shapes of AWS clients", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "constant-keys-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(["client-ec2", "client-sts"])("%s: equal the SDK's own shapes", async (client) => {
    const [written, rewritten] = await Promise.all([shapesOf(client, false), shapesOf(client, true)]);
    expect(Object.keys(written).length).toBeGreaterThan(10);
    expect(textOf(rewritten)).toBe(textOf(written));
  });

  async function shapesOf(client: string, isRewritten: boolean): Promise<object> {
    const outfile = join(folder, `${client}-${isRewritten}.mjs`);
    const entry = join(ROOT, "node_modules/@aws-sdk", client, "dist-es/schemas/schemas_0.js");
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      mainFields: ["module", "main"],
      plugins: isRewritten ? [createConstantKeysPlugin()] : [],
    });
    return import(pathToFileURL(outfile).href);
  }

  /** The shapes refer to each other by functions, so their source is compared. */
  function textOf(shapes: object): string {
    return JSON.stringify(shapes, (_, value) => (typeof value === "function" ? String(value) : value));
  }
});

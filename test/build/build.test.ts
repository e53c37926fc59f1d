import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROVIDER_FILES } from "#test/build/provider-files.ts";
import { buildCommandLine, buildFunctions } from "../../build/build.ts";
import { type Bundle, ROOT } from "../../build/bundle.ts";
import { listFunctionNames } from "../../build/function-names.ts";
import { readNotices } from "../../build/notices.ts";
import type { Size } from "../../build/sizes.ts";
import { readZipEntries } from "./zip-entries.ts";

const NOTICES = "THIRD-PARTY-NOTICES.txt";
const names = await listFunctionNames();

describe("the build", () => {
  let folder = "";
  const path = (...parts: string[]) => join(folder, "first", ...parts);
  const metafile = async (name: string): Promise<Metafile> =>
    JSON.parse(await readFile(path(`${name}.meta.json`), "utf8"));

  let sizes: readonly Size[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "build-"));
    sizes = [...(await buildFunctions(path())), await buildCommandLine(path())];
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(names)("%s: a zip contains exactly the bundle and the notices", async (name) => {
    const entries = readZipEntries(await readFile(path(`${name}.zip`)));
    const outputs = Object.keys((await metafile(name)).outputs).filter((output) => !output.endsWith(".map"));
    const expected = [NOTICES, ...outputs.map((output) => basename(output))].sort();
    expect(expected).toContain("index.mjs");
    expect(entries.map((entry) => entry.name)).toEqual(expected);
    for (const entry of entries) expect(entry.bytes).toBe((await stat(path(name, entry.name))).size);
  });

  test.each(names)("%s: all times in a zip are equal", async (name) => {
    const entries = readZipEntries(await readFile(path(`${name}.zip`)));
    expect(new Set(entries.map(({ time }) => time))).toEqual(new Set([zipTime(1980, 1, 1)]));
  });

  test.each(names)(
    "%s: the bundle contains neither client-node nor the invocation of functions",
    async (name) => {
      const inputs = Object.keys((await metafile(name)).inputs);
      expect(inputs).toContain(`functions/${name}.ts`);
      expect(
        inputs.filter((input) => /@kubernetes\/client-node|^(relay|cli|local|test|bench)\//.test(input)),
      ).toEqual([]);
    },
  );

  test.each(names)("%s: the bundle exports a handler without a callback parameter", async (name) => {
    const bundle = await import(pathToFileURL(path(name, "index.mjs")).href);
    expect(typeof bundle.handler).toBe("function");
    expect(bundle.handler.length).toBeLessThan(3);
  });

  test.each([...names, "serverless-ccm"])(
    "%s: the notices name every package in the bundle",
    async (name) => {
      const { outputs } = await metafile(name);
      const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
      const packages = inputs
        .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
        .flatMap(([input]) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []);
      const notices = await readFile(names.includes(name) ? path(name, NOTICES) : path(NOTICES), "utf8");
      const noticed = [...notices.matchAll(/^={80}\n(\S+) \S+ \(.+\)\n={80}$/gm)].map((match) => match[1]);
      expect(packages).toContain("zod");
      expect(new Set(noticed)).toEqual(new Set(packages));
    },
  );

  test("serverless-ccm: a relay with a clusters file loads neither client-node nor functions nor cloud emulators", async () => {
    const { outputs } = await metafile("serverless-ccm");
    const inputs = inputsLoadedWith(outputs, "src/cli/relay/relay.ts");
    expect(inputs).toContain("src/relay/cluster-relay.ts");
    // Every process knows the names and configurations of clouds, but not their clients.
    const isKind = (input: string): boolean =>
      PROVIDER_FILES.test(input) || input === "src/platforms/keep-fresh.ts";
    expect(
      inputs.filter(
        (input) =>
          /@kubernetes\/client-node|@aws-sdk\/client-ec2|^(functions|clouds|emulators)\//.test(input) &&
          !isKind(input),
      ),
    ).toEqual([]);
  });

  test("serverless-ccm: a relay contains only the watch halves of controllers", async () => {
    const { outputs } = await metafile("serverless-ccm");
    const inputs = inputsLoadedWith(outputs, "src/cli/relay/relay.ts");
    expect(inputs).toContain("src/core/node/watch.ts");
    expect(inputs.filter((input) => /^src\/core\/[^/]+\/(controller|decide)\.ts$/.test(input))).toEqual([]);
  });

  test("serverless-ccm: the build removes the files of an earlier build", async () => {
    const left = path("serverless-ccm-chunk-EARLIER0.mjs");
    await writeFile(left, "");
    await buildCommandLine(path());
    await expect(stat(left)).rejects.toThrow("ENOENT");
  });

  test("a second build has equal bytes", async () => {
    const second = join(folder, "second");
    await buildFunctions(second);
    await buildCommandLine(second);
    const bills = [...names, "serverless-ccm", "serverless-ccm-image"].map((name) => `${name}.cdx.json`);
    const files = [...names.map((name) => `${name}.zip`), ...bills, "serverless-ccm.mjs", NOTICES];
    for (const file of files) {
      const [first, second] = await Promise.all([
        readFile(path(file)),
        readFile(join(folder, "second", file)),
      ]);
      expect(second.equals(first), file).toBe(true);
    }
    expect((await readdir(second)).sort()).toEqual((await readdir(path())).sort());
  });

  test("the reported sizes are those of the files", async () => {
    for (const name of names) {
      const size = sizes.find((candidate) => candidate.name === name);
      expect(size?.zip).toBe((await readFile(path(`${name}.zip`))).length);
      const { outputs } = await metafile(name);
      const modules = Object.entries(outputs).filter(([output]) => !output.endsWith(".map"));
      expect(size?.minified).toBe(modules.reduce((bytes, [, output]) => bytes + output.bytes, 0));
    }
  });
});

describe("the notices", () => {
  const licence = "Permission is granted.";
  const rows = [
    ["a licence and its text", { license: "MIT" }, { LICENSE: licence }, licence],
    ["a text under another spelling", { license: "MIT" }, { "licence.md": licence }, licence],
    ["no text of a licence that is the same for all", { license: "Apache-2.0" }, {}, "Apache License"],
    ["no licence named", {}, { LICENSE: licence }, /names no licence/],
    ["no text", { license: "MIT" }, {}, /carries no licence text/],
  ] as const;

  test.each(rows)("a package with %s", async (_, named, files, expected) => {
    const folder = await mkdtemp(join(tmpdir(), "notices-"));
    const home = join(folder, "node_modules/example");
    await mkdir(home, { recursive: true });
    await writeFile(
      join(home, "package.json"),
      JSON.stringify({ name: "example", version: "1.0.0", ...named }),
    );
    for (const [file, text] of Object.entries(files)) await writeFile(join(home, file), text);
    const notices = readNotices([bundleOf(relative(ROOT, join(home, "index.js")))]);
    if (typeof expected === "string") expect(await notices).toContain(expected);
    else await expect(notices).rejects.toThrow(expected);
    await rm(folder, { recursive: true });
  });
});

/** Returns the inputs of an entry's output and of all its static imports, which load with it. */
function inputsLoadedWith(outputs: Metafile["outputs"], entry: string): string[] {
  const first = Object.keys(outputs).find((path) => outputs[path]?.entryPoint === entry);
  const loaded = new Set(first === undefined ? [] : [first]);
  for (const path of loaded) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement" && outputs[next] !== undefined) loaded.add(next);
    }
  }
  return [...loaded].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
}

function bundleOf(input: string): Bundle {
  const output = { bytes: 1, inputs: { [input]: { bytesInOutput: 1 } }, imports: [], exports: [] };
  return {
    files: [],
    bytes: 1,
    metafile: { inputs: {}, outputs: { "index.mjs": output } },
  };
}

function zipTime(year: number, month: number, day: number): number {
  return (((year - 1980) << 9) | (month << 5) | day) << 16;
}

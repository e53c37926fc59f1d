import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Metafile } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build } from "../../build/build.ts";
import { type Bundle, ROOT } from "../../build/bundle.ts";
import { functionNames } from "../../build/function-names.ts";
import { noticesOf } from "../../build/notices.ts";
import { zipEntries } from "./zip-entries.ts";

const NOTICES = "THIRD-PARTY-NOTICES.txt";
const names = await functionNames();

describe("the build", () => {
  let folder = "";
  const path = (...parts: string[]) => join(folder, "first", ...parts);
  const metafile = async (name: string): Promise<Metafile> =>
    JSON.parse(await readFile(path(`${name}.meta.json`), "utf8"));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "build-"));
    await build({ folder: join(folder, "first") });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(names)("%s: a zip holds the bundle and the notices, and nothing else", async (name) => {
    const entries = zipEntries(await readFile(path(`${name}.zip`)));
    expect(entries.map((entry) => entry.name)).toEqual([NOTICES, "index.mjs"]);
    expect(entries[1]?.bytes).toBe((await readFile(path(name, "index.mjs"))).length);
  });

  test.each(names)("%s: all times in a zip are the same", async (name) => {
    const entries = zipEntries(await readFile(path(`${name}.zip`)));
    expect(new Set(entries.map(({ time }) => time))).toEqual(new Set([zipTime(1980, 1, 1)]));
  });

  test.each(names)("%s: neither client-node nor what invokes functions is in the bundle", async (name) => {
    const inputs = Object.keys((await metafile(name)).inputs);
    expect(inputs).toContain(`functions/${name}.ts`);
    expect(
      inputs.filter((input) => /@kubernetes\/client-node|^(relay|cli|local|test|bench)\//.test(input)),
    ).toEqual([]);
  });

  test.each(names)(
    "%s: the bundle exports a handler that cannot be taken for one with a callback",
    async (name) => {
      const bundle = await import(pathToFileURL(path(name, "index.mjs")).href);
      expect(typeof bundle.handler).toBe("function");
      expect(bundle.handler.length).toBeLessThan(3);
    },
  );

  test.each([...names, "serverless-ccm.mjs"])(
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

  test("a second build gives the same bytes", async () => {
    await build({ folder: join(folder, "second") });
    const files = [...names.map((name) => `${name}.zip`), "serverless-ccm.mjs", NOTICES];
    for (const file of files) {
      const [first, second] = await Promise.all([
        readFile(path(file)),
        readFile(join(folder, "second", file)),
      ]);
      expect(second.equals(first), file).toBe(true);
    }
    expect((await readdir(join(folder, "second"))).sort()).toEqual((await readdir(path())).sort());
  });

  test("the sizes are those of the files", async () => {
    const sizes = JSON.parse(await readFile(path("sizes.json"), "utf8"));
    for (const name of names) {
      const size = sizes.find((candidate: { name: string }) => candidate.name === name);
      expect(size.zip).toBe((await readFile(path(`${name}.zip`))).length);
      expect(size.minified).toBe((await readFile(path(name, "index.mjs"))).length);
      expect(size.raw).toBeGreaterThan(size.minified);
    }
  });
});

describe("the notices", () => {
  const licence = "Permission is granted.";
  const rows = [
    ["a licence and its text", { license: "MIT" }, { LICENSE: licence }, licence],
    ["a text under another spelling", { license: "MIT" }, { "licence.md": licence }, licence],
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
    const notices = noticesOf([bundleOf(relative(ROOT, join(home, "index.js")))]);
    if (typeof expected === "string") expect(await notices).toContain(expected);
    else await expect(notices).rejects.toThrow(expected);
    await rm(folder, { recursive: true });
  });
});

function bundleOf(input: string): Bundle {
  const output = { bytes: 1, inputs: { [input]: { bytesInOutput: 1 } }, imports: [], exports: [] };
  return {
    file: "",
    rawBytes: 1,
    minifiedBytes: 1,
    metafile: { inputs: {}, outputs: { "index.mjs": output } },
  };
}

function zipTime(year: number, month: number, day: number): number {
  return (((year - 1980) << 9) | (month << 5) | day) << 16;
}

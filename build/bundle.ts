import { readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { createBuiltinsPlugin } from "./builtins-plugin.ts";
import { createConstantKeysPlugin } from "./constant-keys-plugin.ts";
import { createJsonSchemasPlugin } from "./json-schemas-plugin.ts";
import { createLeaveOutPlugin, type IncludedParts } from "./leave-out-plugin.ts";
import { createPolyfillPlugin } from "./polyfill-plugin.ts";

/** The folder of the sources; paths in a metafile are relative to it. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The options of a bundle. */
export interface BundleOptions {
  /** Relative to ROOT. */
  readonly entry: string;
  /** The absolute output folder; the entry's output there is `<name>.mjs`. */
  readonly folder: string;
  readonly name: string;
  /** The prefix of files that are loaded on demand; empty by default. They are next to the entry. */
  readonly chunkPrefix?: string;
  /** The replacements of packages: files, relative to ROOT. */
  readonly instead?: Readonly<Record<string, string>>;
  /** The parts of clouds that it has; all by default. */
  readonly included?: IncludedParts;
}

/** A bundle and its inputs. */
export interface Bundle {
  /** Absolute paths of its files, sorted, without their source maps next to them. */
  readonly files: readonly string[];
  readonly metafile: Metafile;
  /** The total size of its files. */
  readonly bytes: number;
}

/** The beginning of an ES module with bundled CommonJS that calls `require`. */
export const REQUIRE = `const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

// Packages with tree-shakable ES modules that give Node their CommonJS.
const ES_MODULES = { yaml: "./node_modules/yaml/browser/index.js" };

/**
 * Bundles an entry with all its imports into ES modules for Node 24; the same sources give the same bytes.
 */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  const { metafile } = await build({
    ...buildSettings(options),
    minify: true,
    sourcemap: "external",
    metafile: true,
  });
  const loadable = findLoadableOutputs(metafile, options.entry);
  const unloadable = Object.keys(metafile.outputs).filter(
    (path) => !loadable.has(path.replace(/\.map$/, "")),
  );
  for (const path of unloadable) {
    await rm(resolve(ROOT, path));
    delete metafile.outputs[path];
  }
  await dropUnusedRequire(metafile);
  const outputs = Object.entries(metafile.outputs).filter(([path]) => !path.endsWith(".map"));
  return {
    files: outputs.map(([path]) => resolve(ROOT, path)).sort(),
    metafile,
    bytes: outputs.reduce((bytes, [, output]) => bytes + output.bytes, 0),
  };
}

/**
 * Returns the entry and everything that it can load. esbuild also writes the on-demand imports of removed
 * code, which are left out.
 */
function findLoadableOutputs({ outputs }: Metafile, entry: string): ReadonlySet<string> {
  const loadable = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // Iterating over a growing set visits the added files, too.
  for (const path of loadable) {
    for (const { path: imported, external } of outputs[path]?.imports ?? []) {
      if (!external) loadable.add(imported);
    }
  }
  return loadable;
}

/**
 * Removes the beginning from files that call no `require`. A function has a hundred small files, and each would
 * create a `require` of its own whenever it is loaded. The source maps then begin one line earlier.
 */
async function dropUnusedRequire({ outputs }: Metafile): Promise<void> {
  for (const [path, output] of Object.entries(outputs)) {
    const map = outputs[`${path}.map`];
    if (map === undefined) continue;
    const text = (await readFile(resolve(ROOT, path), "utf8")).replace(`${REQUIRE}\n`, "");
    if (/\brequire\b/.test(text)) continue;
    const mapText = await readFile(resolve(ROOT, `${path}.map`), "utf8");
    const shifted = mapText.replace('"mappings": ";', '"mappings": "');
    await writeFile(resolve(ROOT, path), text);
    await writeFile(resolve(ROOT, `${path}.map`), shifted);
    output.bytes = Buffer.byteLength(text);
    map.bytes = Buffer.byteLength(shifted);
  }
}

/** Measures the bundle's bytes without minification; writes nothing. */
export async function measureRawBytes(options: BundleOptions): Promise<number> {
  const { outputFiles } = await build({ ...buildSettings(options), write: false });
  return outputFiles.reduce((bytes, output) => bytes + output.contents.length, 0);
}

// Dynamic imports become separate files. In one file esbuild could not shake them, and every process would
// read, parse and keep them.
function buildSettings({ entry, folder, name, chunkPrefix = "", instead = {}, included }: BundleOptions) {
  return {
    absWorkingDir: ROOT,
    entryPoints: { [name]: entry },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    chunkNames: `${chunkPrefix}[name]-[hash]`,
    splitting: true,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // The AWS SDK's ES modules shake to half the size of its `main`.
    mainFields: ["module", "main"],
    alias: { ...ES_MODULES, ...formatPaths(instead) },
    plugins: [
      ...(included === undefined ? [] : [createLeaveOutPlugin(ROOT, included)]),
      createConstantKeysPlugin(),
      createBuiltinsPlugin(),
      createPolyfillPlugin(),
      createJsonSchemasPlugin(),
    ],
    banner: { js: REQUIRE },
    legalComments: "none",
    logLevel: "warning",
  } as const satisfies BuildOptions;
}

/** Returns paths in the form of esbuild's aliases, relative to its working folder. */
function formatPaths(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, `./${file}`]));
}

/** Returns the sources, relative to ROOT, with code in the bundle's output. */
export function listBundledInputs({ metafile }: Bundle): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, input]) => input.bytesInOutput > 0).map(([path]) => path);
  return [...new Set(used)].sort();
}

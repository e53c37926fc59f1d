import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { builtinsOnDemand } from "./builtins-on-demand.ts";
import { constantKeys } from "./constant-keys.ts";
import { noJsonSchemas } from "./no-json-schemas.ts";
import { polyfillFirst } from "./polyfill-first.ts";

/** The folder of the sources; paths in a metafile are relative to it. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What to bundle, and how. */
export interface BundleOptions {
  /** Relative to ROOT. */
  readonly entry: string;
  /** Where to, absolute; the entry's output is `<name>.mjs` there. */
  readonly folder: string;
  readonly name: string;
  /** What the names of files begin with that are loaded on demand; nothing by default. They lie beside the entry. */
  readonly chunkPrefix?: string;
  /** By package, what is bundled in its place: files, relative to ROOT. */
  readonly instead?: Readonly<Record<string, string>>;
}

/** A bundle and what went into it. */
export interface Bundle {
  /** Absolute paths of its files, sorted; their source maps, which lie beside them, not among them. */
  readonly files: readonly string[];
  readonly metafile: Metafile;
  /** Of its files. */
  readonly bytes: number;
}

/** The beginning of an ES module into which CommonJS is bundled: what esbuild makes of calls to `require` needs one. */
export const REQUIRE = `const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);`;

// Packages that have ES modules, which shake, but give Node its CommonJS.
const ES_MODULES = { yaml: "./node_modules/yaml/browser/index.js" };

/** Bundles an entry with all that it imports into ES modules for Node 24; the same sources give the same bytes. */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  const { metafile } = await build({
    ...settingsOf(options),
    minify: true,
    sourcemap: "external",
    metafile: true,
  });
  const loadable = loadableOutputs(metafile, options.entry);
  const unloadable = Object.keys(metafile.outputs).filter(
    (path) => !loadable.has(path.replace(/\.map$/, "")),
  );
  for (const path of unloadable) {
    await rm(resolve(ROOT, path));
    delete metafile.outputs[path];
  }
  const outputs = Object.entries(metafile.outputs).filter(([path]) => !path.endsWith(".map"));
  return {
    files: outputs.map(([path]) => resolve(ROOT, path)).sort(),
    metafile,
    bytes: outputs.reduce((bytes, [, output]) => bytes + output.bytes, 0),
  };
}

/** The entry and whatever it can come to load; of code that was shaken off, esbuild writes what it would have loaded all the same. */
function loadableOutputs({ outputs }: Metafile, entry: string): ReadonlySet<string> {
  const loadable = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === entry));
  // A set that grows is walked to its end.
  for (const path of loadable) {
    for (const { path: imported, external } of outputs[path]?.imports ?? []) {
      if (!external) loadable.add(imported);
    }
  }
  return loadable;
}

/** The bytes that the bundle would have without minification; writes nothing. */
export async function rawBytes(options: BundleOptions): Promise<number> {
  const { outputFiles } = await build({ ...settingsOf(options), write: false });
  return outputFiles.reduce((bytes, output) => bytes + output.contents.length, 0);
}

// What is imported on demand becomes files of its own: in one file it would come whole, as esbuild cannot shake it, and be read,
// parsed and kept by every process that needs none of it.
function settingsOf({ entry, folder, name, chunkPrefix = "", instead = {} }: BundleOptions) {
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
    // The AWS SDK's ES modules shake to half the size of what its `main` comes to.
    mainFields: ["module", "main"],
    alias: { ...ES_MODULES, ...pathsOf(instead) },
    plugins: [constantKeys(), builtinsOnDemand(), polyfillFirst(), noJsonSchemas()],
    banner: { js: REQUIRE },
    legalComments: "none",
    logLevel: "warning",
  } as const satisfies BuildOptions;
}

/** As esbuild's aliases want them, relative to where it works. */
function pathsOf(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, `./${file}`]));
}

/** The paths, relative to ROOT, of the sources of which something is in the bundle's output. */
export function bundledInputs({ metafile }: Bundle): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, input]) => input.bytesInOutput > 0).map(([path]) => path);
  return [...new Set(used)].sort();
}

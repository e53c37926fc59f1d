import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { constantKeys } from "./constant-keys.ts";

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
}

/** A bundle and what went into it. */
export interface Bundle {
  /** Absolute paths of its files, sorted; their source maps, which lie beside them, not among them. */
  readonly files: readonly string[];
  readonly metafile: Metafile;
  /** Of its files. */
  readonly bytes: number;
}

// Some dependencies are CommonJS, and what esbuild makes of their calls to `require` needs one in an ES module.
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

/** Bundles an entry with all that it imports into ES modules for Node 24; the same sources give the same bytes. */
export async function bundle(options: BundleOptions): Promise<Bundle> {
  const { metafile } = await build({
    ...settingsOf(options),
    minify: true,
    sourcemap: "external",
    metafile: true,
  });
  const outputs = Object.entries(metafile.outputs).filter(([path]) => !path.endsWith(".map"));
  return {
    files: outputs.map(([path]) => resolve(ROOT, path)).sort(),
    metafile,
    bytes: outputs.reduce((bytes, [, output]) => bytes + output.bytes, 0),
  };
}

/** The bytes that the bundle would have without minification; writes nothing. */
export async function rawBytes(options: BundleOptions): Promise<number> {
  const { outputFiles } = await build({ ...settingsOf(options), write: false });
  return outputFiles.reduce((bytes, output) => bytes + output.contents.length, 0);
}

// What is imported on demand becomes files of its own: in one file it would come whole, as esbuild cannot shake it, and be read,
// parsed and kept by every process that needs none of it.
function settingsOf({ entry, folder, name, chunkPrefix = "" }: BundleOptions) {
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
    plugins: [constantKeys()],
    banner: { js: REQUIRE },
    legalComments: "none",
    logLevel: "warning",
  } as const satisfies BuildOptions;
}

/** The paths, relative to ROOT, of the sources of which something is in the bundle's output. */
export function bundledInputs({ metafile }: Bundle): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, input]) => input.bytesInOutput > 0).map(([path]) => path);
  return [...new Set(used)].sort();
}

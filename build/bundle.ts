import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";

/** The folder of the sources; paths in a metafile are relative to it. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** One bundled file and what went into it. */
export interface Bundle {
  /** Absolute path of the bundle; its source map lies beside it. */
  readonly file: string;
  readonly metafile: Metafile;
  /** Bytes without minification … */
  readonly rawBytes: number;
  /** … and as written. */
  readonly minifiedBytes: number;
}

// Some dependencies are CommonJS, and what esbuild makes of their calls to `require` needs one in an ES module.
const REQUIRE = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

/** Bundles an entry with all that it imports into one ES module for Node 24; the same sources give the same bytes. */
export async function bundle(entry: string, file: string): Promise<Bundle> {
  const options = {
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // The AWS SDK's ES modules shake to half the size of what its `main` comes to.
    mainFields: ["module", "main"],
    banner: { js: REQUIRE },
    legalComments: "none",
    logLevel: "warning",
  } satisfies BuildOptions;
  const [raw, minified] = await Promise.all([
    build({ ...options, write: false }),
    build({ ...options, minify: true, sourcemap: "external", metafile: true }),
  ]);
  const rawBytes = raw.outputFiles.reduce((bytes, output) => bytes + output.contents.length, 0);
  return { file, metafile: minified.metafile, rawBytes, minifiedBytes: (await stat(file)).size };
}

/** The paths, relative to ROOT, of the sources of which something is in the bundle's output. */
export function bundledInputs({ metafile }: Bundle): string[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const used = inputs.filter(([, input]) => input.bytesInOutput > 0).map(([path]) => path);
  return [...new Set(used)].sort();
}

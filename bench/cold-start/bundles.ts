import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build, type Metafile } from "esbuild";
import { buildFunctions } from "../../build/build.ts";
import { bundle, REQUIRE, ROOT } from "../../build/bundle.ts";

/** What is imported, and its size. */
export interface Loadable {
  /** Absolute path. */
  readonly entry: string;
  readonly minifiedBytes: number;
}

/** A function as it is deployed. */
export interface BuiltFunction extends Loadable {
  readonly name: string;
  readonly zipBytes: number;
  /** Absolute path of what it loads at its first node on AWS. */
  readonly cloud: string | undefined;
}

/** Builds all functions, each from its own sources as they are now. */
export async function builtFunctions(folder: string): Promise<readonly BuiltFunction[]> {
  const sizes = await buildFunctions(folder);
  return Promise.all(
    sizes.map(async ({ name, minified: minifiedBytes, zip: zipBytes = 0 }) => {
      const metafile: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
      const outputs = Object.entries(metafile.outputs);
      const cloud = outputs.find(([, output]) => output.entryPoint === "clouds/aws/cloud.ts")?.[0];
      return {
        name,
        entry: join(folder, name, "index.mjs"),
        minifiedBytes,
        zipBytes,
        cloud: cloud === undefined ? undefined : resolve(ROOT, cloud),
      };
    }),
  );
}

/** A file of this folder, bundled as functions are. */
export async function bundledAsFunctions(source: string, folder: string): Promise<Loadable> {
  const { bytes } = await bundle({ entry: `bench/cold-start/${source}.ts`, folder, name: source });
  return { entry: join(folder, `${source}.mjs`), minifiedBytes: bytes };
}

/**
 * A file of this folder in one file, as most functions are bundled: by esbuild's defaults for Node, which takes what packages
 * name as `main`, or of the ES modules of those that have them.
 */
export async function bundledUsually(
  source: string,
  fields: "main" | "module",
  folder: string,
): Promise<Loadable> {
  const entry = join(folder, `${source}-by-${fields}.mjs`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [`bench/cold-start/${source}.ts`],
    outfile: entry,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    minify: true,
    mainFields: fields === "module" ? ["module", "main"] : ["main", "module"],
    banner: { js: REQUIRE },
    logLevel: "warning",
  });
  return { entry, minifiedBytes: (await stat(entry)).size };
}

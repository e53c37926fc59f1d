import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build, type Metafile } from "esbuild";
import { buildFunctions } from "../../build/build.ts";
import { bundle, REQUIRE, ROOT } from "../../build/bundle.ts";

/** An imported file, and its size. */
export interface Loadable {
  /** Absolute path. */
  readonly entry: string;
  readonly minifiedBytes: number;
}

/** A function as deployed. */
export interface BuiltFunction extends Loadable {
  readonly name: string;
  readonly zipBytes: number;
  /** Absolute path of the file that it loads at its first node on AWS. */
  readonly cloud: string | undefined;
}

/** Builds all functions from the current sources. */
export async function buildAllFunctions(folder: string): Promise<readonly BuiltFunction[]> {
  const sizes = await buildFunctions(folder);
  return Promise.all(
    sizes.map(async ({ name, minified: minifiedBytes, zip: zipBytes = 0 }) => {
      const metafile: Metafile = JSON.parse(await readFile(join(folder, `${name}.meta.json`), "utf8"));
      const outputs = Object.entries(metafile.outputs);
      const cloud = outputs.find(([, output]) => output.entryPoint === "src/clouds/aws/cloud.ts")?.[0];
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

/** Bundles a file of this folder as functions are bundled. */
export async function bundleAsFunction(source: string, folder: string): Promise<Loadable> {
  const { bytes } = await bundle({ entry: `bench/cold-start/${source}.ts`, folder, name: source });
  return { entry: join(folder, `${source}.mjs`), minifiedBytes: bytes };
}

/**
 * Bundles a file of this folder into one file, as most functions are: with esbuild's defaults for Node. It
 * takes a package's `main`, or its ES modules if there are any.
 */
export async function bundleToOneFile(
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

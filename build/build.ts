import { chmod, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { type Bundle, bundle, ROOT } from "./bundle.ts";
import { functionNames } from "./function-names.ts";
import { importTimeMs } from "./import-time.ts";
import { noticesOf } from "./notices.ts";
import { type Size, tableOf } from "./sizes.ts";
import { writeZip } from "./zip.ts";

/** How many processes an import is timed with. */
const IMPORT_RUNS = 9;

const CLI_ENTRY = "cli/main.ts";
const CLI_NAME = "serverless-ccm";
const NOTICES = "THIRD-PARTY-NOTICES.txt";

/** Builds all that is deployed or published into a folder, and resolves to the sizes: each function's, and the command line's. */
export async function build(folder: string): Promise<Size[]> {
  return [...(await buildFunctions(folder)), await buildCommandLine(folder)];
}

/** Builds the functions alone: for each `NAME` its bundle in `NAME/` and what is deployed, `NAME.zip`. */
export async function buildFunctions(folder: string): Promise<Size[]> {
  const names = await functionNames();
  return Promise.all(names.map((name) => buildFunction(name, folder)));
}

/** Builds what is published: the command line in one file, `serverless-ccm.mjs`. */
export async function buildCommandLine(folder: string): Promise<Size> {
  const built = await bundle({ entry: CLI_ENTRY, folder, name: CLI_NAME, splitting: false });
  for (const file of built.files) await chmod(file, 0o755);
  await writeFile(join(folder, NOTICES), await noticesOf([built]));
  await writeMetafile(built, join(folder, `${CLI_NAME}.meta.json`));
  return { name: CLI_NAME, raw: built.rawBytes, minified: built.minifiedBytes };
}

async function buildFunction(name: string, folder: string): Promise<Size> {
  const home = join(folder, name);
  // Of an earlier build other files may be there: their names are hashes.
  await rm(home, { recursive: true, force: true });
  const built = await bundle({ entry: `functions/${name}.ts`, folder: home, name: "index", splitting: true });
  await writeFile(join(home, NOTICES), await noticesOf([built]));
  await writeMetafile(built, join(folder, `${name}.meta.json`));
  // The source maps stay behind: they decode stack traces wherever those are read, and would triple what is deployed.
  const contents = [...built.files, join(home, NOTICES)].map((file) => [relative(home, file), file]);
  const zip = await writeZip(join(folder, `${name}.zip`), Object.fromEntries(contents));
  return { name, raw: built.rawBytes, minified: built.minifiedBytes, zip };
}

async function writeMetafile({ metafile }: Bundle, file: string): Promise<void> {
  await writeFile(file, JSON.stringify(metafile));
}

/** Times the import of each function's bundle, in processes of its own. */
async function withImportTimes(sizes: readonly Size[], folder: string): Promise<Size[]> {
  const timed: Size[] = [];
  for (const size of sizes) {
    const file = join(folder, size.name, "index.mjs");
    timed.push(size.zip === undefined ? size : { ...size, importMs: await importTimeMs(file, IMPORT_RUNS) });
  }
  return timed;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { "import-times": { type: "boolean", default: false } } });
  const folder = join(ROOT, "dist");
  const built = await build(folder);
  const sizes = values["import-times"] ? await withImportTimes(built, folder) : built;
  await writeFile(join(folder, "sizes.json"), `${JSON.stringify(sizes, undefined, 2)}\n`);
  process.stdout.write(`${tableOf(sizes)}\n`);
}

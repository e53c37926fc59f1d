import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
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
const CLI_BUNDLE = "serverless-ccm.mjs";
const NOTICES = "THIRD-PARTY-NOTICES.txt";

export interface BuildOptions {
  /** Where to; made if it is not there. */
  readonly folder: string;
  /** Also time the functions' imports, which takes seconds. */
  readonly importTimes?: boolean;
}

/** Builds all that is deployed or published, and resolves to the sizes: each function with its zip, and the command line. */
export async function build(options: BuildOptions): Promise<Size[]> {
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true });
  const names = await functionNames();
  const functions = await Promise.all(names.map((name) => buildFunction(name, folder)));
  const sizes = [...functions, await buildCommandLine(folder)];
  const measured: Size[] = [];
  for (const size of sizes) {
    const importable = options.importTimes === true && size.zip !== undefined;
    const file = join(folder, size.name, "index.mjs");
    measured.push(importable ? { ...size, importMs: await importTimeMs(file, IMPORT_RUNS) } : size);
  }
  await writeFile(join(folder, "sizes.json"), `${JSON.stringify(measured, undefined, 2)}\n`);
  return measured;
}

async function buildFunction(name: string, folder: string): Promise<Size> {
  const built = await bundle(`functions/${name}.ts`, join(folder, name, "index.mjs"));
  const notices = join(folder, name, NOTICES);
  await writeFile(notices, await noticesOf([built]));
  await writeMetafile(built, join(folder, `${name}.meta.json`));
  // The source map stays behind: it decodes stack traces wherever they are read, and would triple what is loaded.
  const zip = await writeZip(join(folder, `${name}.zip`), { "index.mjs": built.file, [NOTICES]: notices });
  return { name, raw: built.rawBytes, minified: built.minifiedBytes, zip };
}

async function buildCommandLine(folder: string): Promise<Size> {
  const built = await bundle(CLI_ENTRY, join(folder, CLI_BUNDLE));
  await chmod(built.file, 0o755);
  await writeFile(join(folder, NOTICES), await noticesOf([built]));
  await writeMetafile(built, join(folder, `${CLI_BUNDLE}.meta.json`));
  return { name: CLI_BUNDLE, raw: built.rawBytes, minified: built.minifiedBytes };
}

async function writeMetafile({ metafile }: Bundle, file: string): Promise<void> {
  await writeFile(file, JSON.stringify(metafile));
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { "import-times": { type: "boolean", default: false } } });
  const sizes = await build({ folder: join(ROOT, "dist"), importTimes: values["import-times"] });
  process.stdout.write(`${tableOf(sizes)}\n`);
}

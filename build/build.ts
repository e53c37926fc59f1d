import { chmod, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { CLOUD_PROVIDERS } from "#clouds/providers.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { DOCKERFILE, parseBaseImages } from "./base-images.ts";
import { type Artefact, buildBillOfMaterials } from "./bill-of-materials.ts";
import { type Bundle, type BundleOptions, bundle, measureRawBytes, ROOT } from "./bundle.ts";
import { listFunctionNames } from "./function-names.ts";
import { importTimeMs } from "./import-time.ts";
import type { IncludedParts } from "./leave-out-plugin.ts";
import { readNotices } from "./notices.ts";
import { formatSizeTable, type Size } from "./sizes.ts";
import { writeZip } from "./zip.ts";

/** The number of processes that measure an import's time. */
const IMPORT_RUNS = 9;

const CLI_NAME = "serverless-ccm";
/** The image in the name of its bill of materials; no function has this name. */
const IMAGE_NAME = `${CLI_NAME}-image`;
// They are next to the entry: some of them find the manifests in `infra` relative to themselves.
const CHUNK_PREFIX = `${CLI_NAME}-`;
const NOTICES = "THIRD-PARTY-NOTICES.txt";

/** Leaves out the SDK's code for reading ~/.aws and its clients for signing in: a function has no ~/.aws. */
export const NO_PROFILES = {
  "@aws-sdk/credential-provider-ini": "src/platforms/aws/no-profiles.ts",
  "@aws-sdk/credential-provider-process": "src/platforms/aws/no-profiles.ts",
  "@aws-sdk/credential-provider-sso": "src/platforms/aws/no-profiles.ts",
};

/**
 * Replaces the SDK's internal second client of STS, which exchanges web identity tokens: functions already
 * have one.
 */
export const ONE_STS = { "@aws-sdk/nested-clients/sts": "node_modules/@aws-sdk/client-sts/dist-es/index.js" };

/**
 * Leaves out event streams for functions that invoke no others: of all clients in use only Lambda's has
 * operations with them.
 */
export const NO_EVENT_STREAMS = { "@smithy/core/event-streams": "src/platforms/aws/no-event-streams.ts" };

/** The parts of clouds in functions that decide about objects; the names are those of the plugin. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  admission: ["service-validation"],
  ...Object.fromEntries(DESCRIPTORS.map(({ functionName, cloudParts = [] }) => [functionName, cloudParts])),
};

/** Returns the parts of clouds that a function has; throws for an unknown cloud. */
export function selectParts(name: string, clouds?: readonly string[]): IncludedParts {
  const all = CLOUD_PROVIDERS.map(({ provider }) => provider as string);
  const unknown = clouds?.filter((cloud) => !all.includes(cloud)) ?? [];
  if (unknown.length > 0 || clouds?.length === 0)
    throw new Error(`--clouds ${clouds?.join(",")}: give some of ${all.join(", ")}`);
  const parts = WITHOUT_CLOUDS.has(name) ? [] : ["cloud", ...(PARTS[name] ?? [])];
  return { ...(clouds && { clouds }), parts };
}

/** Functions that read no nodes from a cloud. */
export const WITHOUT_CLOUDS: ReadonlySet<string> = new Set(["sweep", "ec2-events", "audit"]);

/**
 * Builds only the functions: for each `NAME` its bundle in `NAME/` and the deployable `NAME.zip`; with all
 * clouds, or some.
 */
export async function buildFunctions(folder: string, clouds?: readonly string[]): Promise<Size[]> {
  const names = await listFunctionNames();
  return Promise.all(names.map((name) => buildFunction(name, folder, clouds)));
}

/**
 * Builds the published files: the command line, `serverless-ccm.mjs`, and what it loads on demand,
 * `serverless-ccm-….mjs`.
 */
export async function buildCommandLine(folder: string): Promise<Size> {
  const built = await bundle(buildCommandLineOptions(folder));
  await chmod(join(folder, `${CLI_NAME}.mjs`), 0o755);
  await removeEarlier(folder, built.files);
  await writeFile(join(folder, NOTICES), await readNotices([built]));
  const files = mapFiles(folder, [...built.files, join(folder, NOTICES)]);
  await writeBill({ name: CLI_NAME, bundle: built, files }, folder);
  const base = parseBaseImages(await readFile(DOCKERFILE, "utf8")).at(-1);
  await writeBill({ name: IMAGE_NAME, bundle: built, files, ...(base && { base }) }, folder);
  await writeMetafile(built, join(folder, `${CLI_NAME}.meta.json`));
  return { name: CLI_NAME, minified: built.bytes };
}

async function buildFunction(name: string, folder: string, clouds?: readonly string[]): Promise<Size> {
  const home = join(folder, name);
  // An earlier build may have left other files: their names are hashes.
  await rm(home, { recursive: true, force: true });
  const built = await bundle(buildFunctionOptions(name, folder, clouds));
  await writeFile(join(home, NOTICES), await readNotices([built]));
  await writeMetafile(built, join(folder, `${name}.meta.json`));
  // The source maps are not deployed: they decode stack traces anywhere, and would triple the size.
  const files = mapFiles(home, [...built.files, join(home, NOTICES)]);
  const archive = join(folder, `${name}.zip`);
  const zip = await writeZip(archive, files);
  await writeBill({ name, bundle: built, files, archive }, folder);
  return { name, minified: built.bytes, zip };
}

function buildFunctionOptions(name: string, folder: string, clouds?: readonly string[]): BundleOptions {
  const instead = { ...NO_PROFILES, ...ONE_STS, ...(WITHOUT_CLOUDS.has(name) ? {} : NO_EVENT_STREAMS) };
  const included = selectParts(name, clouds);
  return { entry: `functions/${name}.ts`, folder: join(folder, name), name: "index", instead, included };
}

function buildCommandLineOptions(folder: string): BundleOptions {
  return { entry: "src/cli/main.ts", folder, name: CLI_NAME, chunkPrefix: CHUNK_PREFIX };
}

/**
 * Removes files of an earlier build, as names are hashes. Unchanged files stay, so that programs running from
 * them continue.
 */
async function removeEarlier(folder: string, files: readonly string[]): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const isOurs = files.includes(file.replace(/\.map$/, ""));
    if (name.startsWith(CHUNK_PREFIX) && !isOurs) await rm(file);
  }
}

/** Maps paths in a folder to files. */
function mapFiles(folder: string, files: readonly string[]): Record<string, string> {
  return Object.fromEntries(files.map((file) => [relative(folder, file), file]));
}

/** Writes an artefact's bill of materials next to it: inside a zip it could not hold the zip's hash. */
async function writeBill(artefact: Artefact, folder: string): Promise<void> {
  await writeFile(join(folder, `${artefact.name}.cdx.json`), await buildBillOfMaterials(artefact));
}

async function writeMetafile({ metafile }: Bundle, file: string): Promise<void> {
  await writeFile(file, JSON.stringify(metafile));
}

/**
 * Adds measurements that the build does not need: the sizes before minification, and the functions' import
 * times.
 */
async function measureSizes(
  sizes: readonly Size[],
  folder: string,
  importTimes: boolean,
  clouds?: readonly string[],
): Promise<Size[]> {
  const complete: Size[] = [];
  for (const size of sizes) {
    const isFunction = size.zip !== undefined;
    const raw = await measureRawBytes(
      isFunction ? buildFunctionOptions(size.name, folder, clouds) : buildCommandLineOptions(folder),
    );
    const file = join(folder, size.name, "index.mjs");
    const importMs = importTimes && isFunction ? await importTimeMs(file, IMPORT_RUNS) : undefined;
    complete.push({ ...size, raw, ...(importMs === undefined ? {} : { importMs }) });
  }
  return complete;
}

/**
 * Links the built program into `node_modules/.bin`, as npm does for other packages. In a checkout, npx then
 * runs this program and does not request its name from the registry, where anyone could publish it.
 */
async function linkCommandLine(folder: string): Promise<void> {
  const link = join(ROOT, "node_modules/.bin", CLI_NAME);
  await rm(link, { force: true });
  await symlink(relative(dirname(link), join(folder, `${CLI_NAME}.mjs`)), link);
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { "import-times": { type: "boolean", default: false }, clouds: { type: "string" } },
  });
  const clouds = values.clouds?.split(",");
  const folder = join(ROOT, "dist");
  const built = [...(await buildFunctions(folder, clouds)), await buildCommandLine(folder)];
  await linkCommandLine(folder);
  const sizes = await measureSizes(built, folder, values["import-times"], clouds);
  await writeFile(join(folder, "sizes.json"), `${JSON.stringify(sizes, undefined, 2)}\n`);
  process.stdout.write(`${formatSizeTable(sizes)}\n`);
}

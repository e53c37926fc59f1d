import { chmod, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { CLOUD_KINDS } from "#clouds/kinds.ts";
import { baseImages, DOCKERFILE } from "./base-images.ts";
import { type Artefact, billOfMaterials } from "./bill-of-materials.ts";
import { type Bundle, type BundleOptions, bundle, ROOT, rawBytes } from "./bundle.ts";
import { functionNames } from "./function-names.ts";
import { importTimeMs } from "./import-time.ts";
import { noticesOf } from "./notices.ts";
import { type Size, tableOf } from "./sizes.ts";
import { writeZip } from "./zip.ts";

/** How many processes an import is timed with. */
const IMPORT_RUNS = 9;

const CLI_NAME = "serverless-ccm";
/** The image in the name of its bill of materials; no function is called so. */
const IMAGE_NAME = `${CLI_NAME}-image`;
// They lie beside the entry: some of them find the manifests in `infra` by where they are themselves.
const CHUNK_PREFIX = `${CLI_NAME}-`;
const NOTICES = "THIRD-PARTY-NOTICES.txt";

/** A function has no ~/.aws: what the SDK brings to read it, with the clients for signing in, is left out. */
export const NO_PROFILES = {
  "@aws-sdk/credential-provider-ini": "clouds/aws/no-profiles.ts",
  "@aws-sdk/credential-provider-process": "clouds/aws/no-profiles.ts",
  "@aws-sdk/credential-provider-sso": "clouds/aws/no-profiles.ts",
};

/** The SDK has a second client of STS within itself, with which it exchanges web identity tokens: functions have one already. */
export const ONE_STS = { "@aws-sdk/nested-clients/sts": "node_modules/@aws-sdk/client-sts/dist-es/index.js" };

/** Streams of events, for functions that invoke no others: of all clients in use Lambda's alone has operations with them. */
export const NO_EVENT_STREAMS = { "@smithy/core/event-streams": "clouds/aws/no-event-streams.ts" };

/**
 * What asks no cloud about nodes reads how clusters are configured, and needs none of what a cloud is made of: the sweep, and
 * ec2-events, which brings what it asks EC2 with by itself.
 */
export const NO_CLOUDS = Object.fromEntries(
  CLOUD_KINDS.map(({ provider }) => [`#clouds/${provider}/cloud.ts`, "clouds/no-clouds.ts"]),
);

/** What a build for some clouds alone has in the place of the others; throws where there is no cloud of such a name. */
export function withoutOtherClouds(clouds: readonly string[] | undefined): Record<string, string> {
  if (clouds === undefined) return {};
  const all = CLOUD_KINDS.map(({ provider }) => provider as string);
  const unknown = clouds.filter((cloud) => !all.includes(cloud));
  if (unknown.length > 0 || clouds.length === 0)
    throw new Error(`--clouds ${clouds.join(",")}: give some of ${all.join(", ")}`);
  const others = all.filter((provider) => !clouds.includes(provider));
  return Object.fromEntries(
    others.map((provider) => [`#clouds/${provider}/cloud.ts`, "clouds/no-clouds.ts"]),
  );
}

/** What load balancers take, for functions that have nothing to do with them. */
export const NO_LOAD_BALANCERS = {
  "#clouds/aws/load-balancers/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/digitalocean/firewall/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/digitalocean/load-balancer-tags/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/digitalocean/load-balancers/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/keepalived/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/kubevip/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/oci/load-balancers/capability.ts": "clouds/no-capabilities.ts",
  "#clouds/rancher/cattle/load-balancers/capability.ts": "clouds/no-capabilities.ts",
};

/** What the validation of Services takes, for functions that have nothing to do with it. */
export const NO_VALIDATION = {
  "#clouds/digitalocean/service-validation/capability.ts": "clouds/no-capabilities.ts",
};

/** Functions that validate Services. */
export const WITH_VALIDATION: ReadonlySet<string> = new Set(["admission"]);

/** What tags of instances take, for functions that have nothing to do with them. */
export const NO_TAGS = { "#clouds/aws/tags/capability.ts": "clouds/no-capabilities.ts" };

/** Functions that have to do with tags of instances. */
export const WITH_TAGS: ReadonlySet<string> = new Set(["tagging"]);

/** Functions that have to do with load balancers. */
export const WITH_LOAD_BALANCERS: ReadonlySet<string> = new Set(["service"]);

/** What routes take, for functions that have nothing to do with them. */
export const NO_ROUTES = { "#clouds/aws/routes/capability.ts": "clouds/no-capabilities.ts" };

/** Functions that have to do with routes. */
export const WITH_ROUTES: ReadonlySet<string> = new Set(["route"]);

/** Functions that ask no cloud about nodes. */
export const WITHOUT_CLOUDS: ReadonlySet<string> = new Set(["sweep", "ec2-events"]);

/** Builds the functions alone: for each `NAME` its bundle in `NAME/` and what is deployed, `NAME.zip`; with all clouds, or some alone. */
export async function buildFunctions(folder: string, clouds?: readonly string[]): Promise<Size[]> {
  const names = await functionNames();
  const leftOut = withoutOtherClouds(clouds);
  return Promise.all(names.map((name) => buildFunction(name, folder, leftOut)));
}

/** Builds what is published: the command line, `serverless-ccm.mjs`, and what it loads on demand, `serverless-ccm-….mjs`. */
export async function buildCommandLine(folder: string): Promise<Size> {
  const built = await bundle(commandLine(folder));
  await chmod(join(folder, `${CLI_NAME}.mjs`), 0o755);
  await removeEarlier(folder, built.files);
  await writeFile(join(folder, NOTICES), await noticesOf([built]));
  const files = filesIn(folder, [...built.files, join(folder, NOTICES)]);
  await writeBill({ name: CLI_NAME, bundle: built, files }, folder);
  const base = baseImages(await readFile(DOCKERFILE, "utf8")).at(-1);
  await writeBill({ name: IMAGE_NAME, bundle: built, files, ...(base && { base }) }, folder);
  await writeMetafile(built, join(folder, `${CLI_NAME}.meta.json`));
  return { name: CLI_NAME, minified: built.bytes };
}

async function buildFunction(
  name: string,
  folder: string,
  leftOut: Readonly<Record<string, string>>,
): Promise<Size> {
  const home = join(folder, name);
  // Of an earlier build other files may be there: their names are hashes.
  await rm(home, { recursive: true, force: true });
  const built = await bundle(functionNamed(name, folder, leftOut));
  await writeFile(join(home, NOTICES), await noticesOf([built]));
  await writeMetafile(built, join(folder, `${name}.meta.json`));
  // The source maps stay behind: they decode stack traces wherever those are read, and would triple what is deployed.
  const files = filesIn(home, [...built.files, join(home, NOTICES)]);
  const archive = join(folder, `${name}.zip`);
  const zip = await writeZip(archive, files);
  await writeBill({ name, bundle: built, files, archive }, folder);
  return { name, minified: built.bytes, zip };
}

function functionNamed(
  name: string,
  folder: string,
  leftOut: Readonly<Record<string, string>>,
): BundleOptions {
  const instead = {
    ...NO_PROFILES,
    ...ONE_STS,
    ...leftOut,
    ...(WITHOUT_CLOUDS.has(name) ? NO_CLOUDS : NO_EVENT_STREAMS),
    ...(WITH_LOAD_BALANCERS.has(name) ? {} : NO_LOAD_BALANCERS),
    ...(WITH_VALIDATION.has(name) ? {} : NO_VALIDATION),
    ...(WITH_TAGS.has(name) ? {} : NO_TAGS),
    ...(WITH_ROUTES.has(name) ? {} : NO_ROUTES),
  };
  return { entry: `functions/${name}.ts`, folder: join(folder, name), name: "index", instead };
}

function commandLine(folder: string): BundleOptions {
  return { entry: "cli/main.ts", folder, name: CLI_NAME, chunkPrefix: CHUNK_PREFIX };
}

/** Removes what an earlier build left, as names are hashes; what is as it was stays, and with it programs that run from it. */
async function removeEarlier(folder: string, files: readonly string[]): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = join(folder, name);
    const isOurs = files.includes(file.replace(/\.map$/, ""));
    if (name.startsWith(CHUNK_PREFIX) && !isOurs) await rm(file);
  }
}

/** By their paths in a folder, for what is made of them. */
function filesIn(folder: string, files: readonly string[]): Record<string, string> {
  return Object.fromEntries(files.map((file) => [relative(folder, file), file]));
}

/** Writes an artefact's bill of materials beside it: in a zip it could not hold the zip's hash. */
async function writeBill(artefact: Artefact, folder: string): Promise<void> {
  await writeFile(join(folder, `${artefact.name}.cdx.json`), await billOfMaterials(artefact));
}

async function writeMetafile({ metafile }: Bundle, file: string): Promise<void> {
  await writeFile(file, JSON.stringify(metafile));
}

/** Adds what is not needed to build: the sizes before minification, and how long the functions take to import. */
async function measured(
  sizes: readonly Size[],
  folder: string,
  importTimes: boolean,
  leftOut: Readonly<Record<string, string>>,
): Promise<Size[]> {
  const complete: Size[] = [];
  for (const size of sizes) {
    const isFunction = size.zip !== undefined;
    const raw = await rawBytes(isFunction ? functionNamed(size.name, folder, leftOut) : commandLine(folder));
    const file = join(folder, size.name, "index.mjs");
    const importMs = importTimes && isFunction ? await importTimeMs(file, IMPORT_RUNS) : undefined;
    complete.push({ ...size, raw, ...(importMs === undefined ? {} : { importMs }) });
  }
  return complete;
}

/**
 * Links the built program into `node_modules/.bin`, as npm does for other packages. In a checkout, npx then runs this program and does
 * not ask the registry for a package of its name, which anybody could publish.
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
  const sizes = await measured(built, folder, values["import-times"], withoutOtherClouds(clouds));
  await writeFile(join(folder, "sizes.json"), `${JSON.stringify(sizes, undefined, 2)}\n`);
  process.stdout.write(`${tableOf(sizes)}\n`);
}

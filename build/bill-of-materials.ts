import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import packageJson from "../package.json" with { type: "json" };
import type { BaseImage } from "./base-images.ts";
import type { Bundle } from "./bundle.ts";
import { type BundledPackage, importsBetweenPackages, OURS, packageIn } from "./bundled-packages.ts";
import { type LockFile, readLockFile } from "./lock-file.ts";

/** What is handed out: a function's zip, the command line, the image. */
export interface Artefact {
  readonly name: string;
  readonly bundle: Bundle;
  /** What it holds: by its path in the artefact, the file's path. */
  readonly files: Readonly<Record<string, string>>;
  /** The one file that it is; the command line is several, and an image is known by its digest once it is built. */
  readonly archive?: string;
  /** What an image is built on. */
  readonly base?: BaseImage;
}

/**
 * What an artefact is made of as CycloneDX 1.6 in JSON, for those who look for packages with known faults: in a bundle they find none by
 * themselves. Packages have the hashes of the lock file, which npm has compared; files their own; and who imports whom is as it was
 * bundled. There is neither a time nor a serial number, so that the same sources give the same bytes. Rejects where a bundled package has
 * no licence or no hash.
 */
export async function billOfMaterials(artefact: Artefact): Promise<string> {
  const { bundle, base } = artefact;
  const lockFile = await readLockFile();
  const folders = importsBetweenPackages(bundle);
  const packages = new Map<string, BundledPackage>();
  for (const folder of folders.keys()) if (folder !== OURS) packages.set(folder, await packageIn(folder));
  const root = await rootComponent(artefact);
  const referenceFor = (folder: string): string => {
    const each = packages.get(folder);
    return each === undefined ? root["bom-ref"] : purlOf(each);
  };
  const components = [...packages].map(([folder, each]) => ({
    ...componentOf(each),
    hashes: [lockedHash(folder, lockFile)],
  }));
  const dependencies = [...folders].map(([folder, imported]) => ({
    ref: referenceFor(folder),
    dependsOn: imported.map(referenceFor),
  }));
  const image = base === undefined ? [] : [baseComponent(base)];
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { lifecycles: [{ phase: "build" }], component: root },
    components: [...image, ...byReference(components, "bom-ref")],
    dependencies: merged(
      dependencies,
      image.map((each) => each["bom-ref"]),
      root["bom-ref"],
    ),
    // The base is not taken apart, and the manifests of infra/ and the examples, which are in the image as well, are not listed.
    ...(image.length === 0
      ? {}
      : {
          compositions: [
            {
              aggregate: "incomplete",
              assemblies: [root["bom-ref"], ...image.map((each) => each["bom-ref"])],
            },
          ],
        }),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

async function rootComponent({ name, files, archive, base }: Artefact) {
  const { version, license } = packageJson;
  const reference = `${name}@${version}`;
  const contents = await Promise.all(
    Object.entries(files)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([path, file]) => ({
        type: "file",
        "bom-ref": `${reference}#${path}`,
        name: path,
        hashes: [await hashOf(file)],
      })),
  );
  return {
    type: base === undefined ? "application" : "container",
    "bom-ref": reference,
    name,
    version,
    ...(archive === undefined ? {} : { hashes: [await hashOf(archive)] }),
    licenses: [{ expression: license }],
    components: contents,
  };
}

/** An image by its digest; one without has none here either, and cannot be built on. */
function baseComponent({ registry, repository, tag, digest }: BaseImage) {
  const name = repository.split("/").at(-1) ?? repository;
  const purl = `pkg:oci/${name}${digest === undefined ? "" : `@${encodeURIComponent(digest)}`}?repository_url=${encodeURIComponent(`${registry}/${repository}`)}&tag=${tag}`;
  return {
    type: "container",
    "bom-ref": purl,
    name: `${registry}/${repository}`,
    version: digest ?? tag,
    purl,
    ...(digest === undefined
      ? { properties: [{ name: "serverless-ccm:digest", value: "not recorded; npm run base-images" }] }
      : { hashes: [{ alg: "SHA-256", content: digest.replace("sha256:", "") }] }),
  };
}

/** A package URL; of a scope's name its @ is escaped, as that stands before the version. */
function purlOf({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function componentOf(each: BundledPackage) {
  const { name, version, license } = each;
  const purl = purlOf(each);
  // An expression may be a single identifier, too.
  return { type: "library", "bom-ref": purl, name, version, purl, licenses: [{ expression: license }] };
}

/** The SHA-512 of the package as the registry hands it out. */
function lockedHash(folder: string, { packages }: LockFile) {
  // Where node_modules is a link, a bundle's paths lead out of this folder.
  const path = folder.slice(folder.indexOf("node_modules/"));
  const [, base64] = /^sha512-(\S+)$/.exec(packages[path]?.integrity ?? "") ?? [];
  if (base64 === undefined)
    throw new Error(`${path} is bundled, but package-lock.json has no SHA-512 of it; run npm install`);
  return { alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") };
}

async function hashOf(file: string) {
  return {
    alg: "SHA-256",
    content: createHash("sha256")
      .update(await readFile(file))
      .digest("hex"),
  };
}

/** Sorted, and each once: a package may lie in several folders. */
function byReference<Key extends string, Each extends Readonly<Record<Key, string>>>(
  list: readonly Each[],
  key: Key,
): Each[] {
  return [...new Map(list.map((each) => [each[key], each])).values()].toSorted((a, b) =>
    a[key] < b[key] ? -1 : 1,
  );
}

/** Who depends on whom, each once, with the base images beside what the artefact itself depends on. */
function merged(
  list: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[],
  bases: readonly string[],
  root: string,
) {
  const edges = new Map<string, Set<string>>([
    [root, new Set(bases)],
    ...bases.map((each) => [each, new Set<string>()] as const),
  ]);
  for (const { ref, dependsOn } of list) {
    const known = edges.get(ref) ?? new Set();
    for (const each of dependsOn) if (each !== ref) known.add(each);
    edges.set(ref, known);
  }
  return byReference(
    [...edges].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].toSorted() })),
    "ref",
  );
}

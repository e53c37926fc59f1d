import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import packageJson from "../package.json" with { type: "json" };
import type { BaseImage } from "./base-images.ts";
import type { Bundle } from "./bundle.ts";
import { type BundledPackage, mapPackageImports, OURS, readPackage } from "./bundled-packages.ts";
import { type LockFile, readLockFile } from "./lock-file.ts";

/** A published artefact: a function's zip, the command line, the image. */
export interface Artefact {
  readonly name: string;
  readonly bundle: Bundle;
  /** Its content: the path in the artefact, and the file's path. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * The artefact's single file. The command line has several files, and a built image is identified by its
   * digest.
   */
  readonly archive?: string;
  /** The image's base. */
  readonly base?: BaseImage;
}

/**
 * Builds a bill of materials as CycloneDX 1.6 in JSON, for scanners of known vulnerabilities: they cannot see
 * packages in a bundle. Packages have the hashes of the lock file, which npm has verified; files have their
 * own. Imports between packages are those of the bundle. It contains neither a time nor a serial number, so
 * that the same sources give the same bytes. Rejects if a bundled package has no licence or no hash.
 */
export async function buildBillOfMaterials(artefact: Artefact): Promise<string> {
  const { bundle, base } = artefact;
  const lockFile = await readLockFile();
  const folders = mapPackageImports(bundle);
  const packages = new Map<string, BundledPackage>();
  for (const folder of folders.keys()) if (folder !== OURS) packages.set(folder, await readPackage(folder));
  const root = await buildRootComponent(artefact);
  const referenceFor = (folder: string): string => {
    const each = packages.get(folder);
    return each === undefined ? root["bom-ref"] : formatPurl(each);
  };
  const components = [...packages].map(([folder, each]) => ({
    ...buildComponent(each),
    hashes: [getLockedHash(folder, lockFile)],
  }));
  const dependencies = [...folders].map(([folder, imported]) => ({
    ref: referenceFor(folder),
    dependsOn: imported.map(referenceFor),
  }));
  const image = base === undefined ? [] : [buildBaseComponent(base)];
  const document = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { lifecycles: [{ phase: "build" }], component: root },
    components: [...image, ...sortByReference(components, "bom-ref")],
    dependencies: mergeDependencies(
      dependencies,
      image.map((each) => each["bom-ref"]),
      root["bom-ref"],
    ),
    // The base is not analysed, and the image's manifests of infra/ and examples are not listed.
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

async function buildRootComponent({ name, files, archive, base }: Artefact) {
  const { version, license } = packageJson;
  const reference = `${name}@${version}`;
  const contents = await Promise.all(
    Object.entries(files)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(async ([path, file]) => ({
        type: "file",
        "bom-ref": `${reference}#${path}`,
        name: path,
        hashes: [await hashFile(file)],
      })),
  );
  return {
    type: base === undefined ? "application" : "container",
    "bom-ref": reference,
    name,
    version,
    ...(archive === undefined ? {} : { hashes: [await hashFile(archive)] }),
    licenses: [{ expression: license }],
    components: contents,
  };
}

/** Identifies an image by its digest; without a digest it has no identity, and cannot be built on. */
function buildBaseComponent({ registry, repository, tag, digest }: BaseImage) {
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

/** Returns a package URL; the @ of a scope is escaped, as an @ precedes the version. */
function formatPurl({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function buildComponent(each: BundledPackage) {
  const { name, version, license } = each;
  const purl = formatPurl(each);
  // A single identifier is a valid expression, too.
  return { type: "library", "bom-ref": purl, name, version, purl, licenses: [{ expression: license }] };
}

/** Returns the SHA-512 of the package as the registry serves it. */
function getLockedHash(folder: string, { packages }: LockFile) {
  // If node_modules is a link, a bundle's paths lead out of this folder.
  const path = folder.slice(folder.indexOf("node_modules/"));
  const [, base64] = /^sha512-(\S+)$/.exec(packages[path]?.integrity ?? "") ?? [];
  if (base64 === undefined)
    throw new Error(`${path} is bundled, but package-lock.json has no SHA-512 of it; run npm install`);
  return { alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") };
}

async function hashFile(file: string) {
  return {
    alg: "SHA-256",
    content: createHash("sha256")
      .update(await readFile(file))
      .digest("hex"),
  };
}

/** Sorts by reference and removes duplicates: a package may be in several folders. */
function sortByReference<Key extends string, Each extends Readonly<Record<Key, string>>>(
  list: readonly Each[],
  key: Key,
): Each[] {
  return [...new Map(list.map((each) => [each[key], each])).values()].toSorted((a, b) =>
    a[key] < b[key] ? -1 : 1,
  );
}

/** Merges dependencies without duplicates; the artefact itself also depends on the base images. */
function mergeDependencies(
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
  return sortByReference(
    [...edges].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].toSorted() })),
    "ref",
  );
}

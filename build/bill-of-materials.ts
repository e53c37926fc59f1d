import packageJson from "../package.json" with { type: "json" };
import type { Bundle } from "./bundle.ts";
import { type BundledPackage, bundledFolders, packageIn } from "./bundled-packages.ts";

/**
 * What is in the bundles as CycloneDX in JSON, for those who look for packages with known faults: in a bundle they find none by
 * themselves. It has neither a time nor a serial number, so that the same sources give the same bytes.
 */
export async function billOfMaterials(bundles: readonly Bundle[]): Promise<string> {
  const packages = await Promise.all(bundledFolders(bundles).map(packageIn));
  const byReference = new Map(packages.map((each) => [referenceOf(each), each]));
  const components = [...byReference]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, each]) => componentOf(each));
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...componentOf(packageJson), type: "application" } },
    components,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

/** A package URL; of a scope's name its @ is escaped, as that stands before the version. */
function referenceOf({ name, version }: BundledPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function componentOf(each: BundledPackage): object {
  const { name, version, license } = each;
  const purl = referenceOf(each);
  // An expression may be a single identifier, too.
  return { type: "library", "bom-ref": purl, name, version, purl, licenses: [{ expression: license }] };
}

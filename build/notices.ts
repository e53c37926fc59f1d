import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Bundle, ROOT } from "./bundle.ts";
import { listBundledFolders, readPackage } from "./bundled-packages.ts";

const LICENCE_FILE = /^((un)?licen[cs]e|copying|notice)([.-].*)?$/i;

/**
 * The location of the licence text of packages that contain none: by package, or by licence if its text is
 * equal for all.
 */
const TEXTS_BY_PACKAGE: Readonly<Record<string, string>> = {
  "@middy/core": join(ROOT, "build/licences/middy.txt"),
  "@middy/util": join(ROOT, "build/licences/middy.txt"),
};
const TEXTS_BY_LICENCE: Readonly<Record<string, string>> = { "Apache-2.0": join(ROOT, "LICENSE") };

/**
 * Returns the names, versions and licence texts of all packages with code in the bundles. Rejects if a
 * package has no licence or no licence text, which must be published with it.
 */
export async function readNotices(bundles: readonly Bundle[]): Promise<string> {
  const notices = await Promise.all(listBundledFolders(bundles).map(readNotice));
  const parts = [...new Set(notices)].sort();
  return `What serverless-ccm is bundled with, and under which licences.\n\n${parts.join("\n")}`;
}

async function readNotice(folder: string): Promise<string> {
  const path = join(ROOT, folder);
  const { name, version, license } = await readPackage(folder);
  const names = (await readdir(path)).filter((file) => LICENCE_FILE.test(file)).sort();
  const known = TEXTS_BY_PACKAGE[name] ?? TEXTS_BY_LICENCE[license];
  const files = names.length === 0 && known !== undefined ? [known] : names.map((file) => join(path, file));
  if (files.length === 0)
    throw new Error(`${name} ${version} (${license}) is bundled, but carries no licence text`);
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  const text = texts.map((part) => part.replaceAll("\r\n", "\n").trim()).join("\n\n");
  const rule = "=".repeat(80);
  return `${rule}\n${name} ${version} (${license})\n${rule}\n\n${text}\n`;
}

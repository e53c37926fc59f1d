import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../build/bundle.ts";

const run = promisify(execFile);

/** A built version of the product, as deployed. */
export interface Build {
  readonly name: string;
  /** The path of `serverless-ccm.mjs`. */
  readonly program: string;
  /** The folder with `NAME/index.mjs` for each function. */
  readonly folder: string;
}

/**
 * Runs in the root of a checkout: builds what `npm run build` builds, and nothing else, into another folder.
 */
const BUILD = `
const { buildFunctions, buildCommandLine } = await import(process.cwd() + "/build/build.ts");
await buildFunctions(process.argv[1]);
await buildCommandLine(process.argv[1]);
`;

/** Builds this checkout in its present state. */
export function buildToday(folder: string): Promise<Build> {
  return build("N", ROOT, folder);
}

/**
 * Builds a commit of this repository from its own sources, with the packages that are installed here. Rejects
 * if the commit is not found.
 */
export async function buildCommit(commit: string, folder: string): Promise<Build> {
  const sources = join(folder, "sources");
  await mkdir(sources, { recursive: true });
  const archive = join(folder, "sources.tar");
  await run("git", ["archive", "--output", archive, `${commit}^{commit}`], { cwd: ROOT });
  await run("tar", ["-xf", archive, "-C", sources]);
  await symlink(join(ROOT, "node_modules"), join(sources, "node_modules"));
  return build("N−1", sources, join(folder, "dist"));
}

async function build(name: string, sources: string, folder: string): Promise<Build> {
  await mkdir(folder, { recursive: true });
  await run(process.execPath, ["--input-type=module", "--eval", BUILD, folder], { cwd: sources });
  return { name, program: join(folder, "serverless-ccm.mjs"), folder };
}

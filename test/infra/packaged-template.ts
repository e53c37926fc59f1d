import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../build/bundle.ts";
import { listFunctionNames } from "../../build/function-names.ts";
import { writeZip } from "../../build/zip.ts";

const run = promisify(execFile);

// biome-ignore lint/suspicious/noExplicitAny: a CloudFormation template, of which each test looks at another part
export type Template = any;

/** The output of `serverless package`. */
export interface Packaged {
  /** The file with the template. */
  readonly file: string;
  readonly functions: readonly Template[];
  readonly resources: Template;
}

/** A folder with serverless.yml and a zip for each function, ready for packaging. */
export interface PackagingFolder {
  /** Packages the folder; rejects with the output of `serverless package`. */
  package(parameters: Readonly<Record<string, string>>, region?: string): Promise<Packaged>;
  close(): Promise<void>;
}

// No proxy and no credentials: any network request fails, and fails the test.
const OFFLINE = {
  PATH: process.env["PATH"],
  HTTPS_PROXY: "http://127.0.0.1:1",
  HTTP_PROXY: "http://127.0.0.1:1",
};

/** Creates such a folder, with functions that do nothing. It supports one `package` at a time. */
export async function makePackagingFolder(): Promise<PackagingFolder> {
  const folder = await mkdtemp(join(tmpdir(), "package-"));
  await copyFile(join(ROOT, "serverless.yml"), join(folder, "serverless.yml"));
  for (const name of ["node_modules", "build"]) await symlink(join(ROOT, name), join(folder, name));
  await mkdir(join(folder, "dist"));
  await writeFile(join(folder, "index.mjs"), "export const handler = async () => ({});");
  for (const name of await listFunctionNames()) {
    await writeZip(join(folder, "dist", `${name}.zip`), { "index.mjs": join(folder, "index.mjs") });
  }
  let packages = 0;
  return {
    async package(parameters, region = "us-east-1") {
      packages += 1;
      const into = `package-${packages}`;
      const given = Object.entries(parameters).flatMap(([name, value]) => ["--param", `${name}=${value}`]);
      given.push("--region", region);
      const serverless = join(ROOT, "node_modules/serverless/bin/serverless.js");
      await run(process.execPath, [serverless, "package", "--package", into, ...given], {
        cwd: folder,
        env: { ...OFFLINE, HOME: folder, NODE_COMPILE_CACHE: join(folder, "compiled") },
      }).catch((error: Error & { readonly stdout: string }) => {
        // It prints errors to stdout.
        throw new Error(error.stdout, { cause: error });
      });
      const file = join(folder, into, "cloudformation-template-update-stack.json");
      const { Resources: resources } = JSON.parse(await readFile(file, "utf8"));
      const all: Template[] = Object.values(resources);
      return { file, functions: all.filter(({ Type }) => Type === "AWS::Lambda::Function"), resources };
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

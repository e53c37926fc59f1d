import { createHash } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, makeOnce } from "#test/setup/make-once.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** What Go builds of a module: all of it, or the one program that few have who have the others. */
const BUILDS = {
  "control-plane": {
    packages: ["tool"],
    takes: (version: string) =>
      `kube-apiserver ${version}, etcd and etcdutl with Go, once (about five minutes)`,
  },
  etcdutl: {
    packages: ["go.etcd.io/etcd/etcdutl/v3"],
    takes: () => "etcdutl with Go, once (about a minute)",
  },
} as const;

/** The minor that a run of the tests asks for, as `1.37`; undefined for the one that they usually run on. */
export function chosenMinor(): string | undefined {
  return process.env["KUBERNETES_MINOR"] || undefined;
}

/** The version that the module of that minor builds, as its go.mod has it: `v1.37.1`. Rejects where there is no such module. */
export async function versionOf(minor: string | undefined): Promise<string> {
  const goMod = join(sourceOf(minor), "go.mod");
  const text = await readFile(goMod, "utf8").catch((cause: unknown) => {
    throw new Error(
      `there is no module of Kubernetes ${minor}: test/control-plane/write-module.ts writes it`,
      {
        cause,
      },
    );
  });
  const version = /^\s*(?:require )?k8s\.io\/kubernetes (v\S+)/m.exec(text)?.[1];
  if (version === undefined) throw new Error(`${goMod} requires no k8s.io/kubernetes`);
  return version;
}

/** Where a build lies, or will lie. */
export async function folderOfBuild(name: keyof typeof BUILDS, minor = chosenMinor()): Promise<string> {
  const hash = createHash("sha256").update(await versionOf(minor));
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(sourceOf(minor), file)));
  return join(cacheFolder(), name, hash.digest("hex").slice(0, 16));
}

/** Builds it with Go unless it is there, and says where it is; rejects with what Go said. */
export async function buildOnce(
  name: keyof typeof BUILDS,
  say: (line: string) => void,
  minor = chosenMinor(),
): Promise<string> {
  const folder = await folderOfBuild(name, minor);
  const { packages, takes } = BUILDS[name];
  await makeOnce(folder, async (temporary) => {
    const version = await versionOf(minor);
    say(`building ${takes(version)} …`);
    // Without it the server reports that it is v0.0.0.
    const stamp = `-X k8s.io/component-base/version.gitVersion=${version}`;
    const args = ["build", "-o", `${temporary}/`, "-ldflags", `-s -w ${stamp}`, ...packages];
    await runProgram("go", args, { folder: sourceOf(minor) });
    // Go names a tool after the last part of its path.
    if (name === "control-plane") await rename(join(temporary, "server"), join(temporary, "etcd"));
  });
  return folder;
}

/** The module of the minor: the usual one lies at the top, others in a folder each. */
function sourceOf(minor: string | undefined): string {
  const folder = minor === undefined ? "." : `versions/${minor}`;
  return fileURLToPath(new URL(`../control-plane/${folder}`, import.meta.url));
}

import { createHash } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The Go builds of a module: all of it, or only etcdutl, which is often the only missing program. */
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

/**
 * Returns the Kubernetes minor that was chosen for the tests, such as `1.37`; undefined means the default.
 */
export function getChosenMinor(): string | undefined {
  return process.env["KUBERNETES_MINOR"] || undefined;
}

/**
 * Returns the version in the go.mod of that minor's module, such as `v1.37.1`. Rejects if the module is not
 * found.
 */
export async function readVersion(minor: string | undefined): Promise<string> {
  const goMod = join(getModuleFolder(minor), "go.mod");
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

/** Returns the folder of a build, whether or not it exists. */
export async function getBuildFolder(name: keyof typeof BUILDS, minor = getChosenMinor()): Promise<string> {
  const hash = createHash("sha256").update(await readVersion(minor));
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(getModuleFolder(minor), file)));
  return join(getCacheFolder(), name, hash.digest("hex").slice(0, 16));
}

/** Builds it with Go unless it exists, and returns its path; rejects with Go's output. */
export async function buildOnce(
  name: keyof typeof BUILDS,
  say: (line: string) => void,
  minor = getChosenMinor(),
): Promise<string> {
  const folder = await getBuildFolder(name, minor);
  const { packages, takes } = BUILDS[name];
  await makeOnce(folder, async (temporary) => {
    const version = await readVersion(minor);
    say(`building ${takes(version)} …`);
    // Without it the server reports v0.0.0.
    const stamp = `-X k8s.io/component-base/version.gitVersion=${version}`;
    const args = ["build", "-o", `${temporary}/`, "-ldflags", `-s -w ${stamp}`, ...packages];
    await runProgram("go", args, { folder: getModuleFolder(minor) });
    // Go names a program after the last part of its path.
    if (name === "control-plane") await rename(join(temporary, "server"), join(temporary, "etcd"));
  });
  return folder;
}

/** Returns the folder of the minor's Go module: the default one is at the top, the others are in subfolders. */
export function getModuleFolder(minor = getChosenMinor()): string {
  const folder = minor === undefined ? "." : `versions/${minor}`;
  return fileURLToPath(new URL(`../control-plane/${folder}`, import.meta.url));
}

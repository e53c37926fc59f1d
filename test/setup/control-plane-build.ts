import { createHash } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, makeOnce } from "#test/setup/make-once.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The version that the Go module in test/control-plane builds, and reports itself to be. */
const KUBERNETES_VERSION = "v1.36.3";

/** What Go builds of that module: all of it, or the one program that few have who have the others. */
const BUILDS = {
  "control-plane": {
    packages: ["tool"],
    takes: "kube-apiserver, etcd and etcdutl with Go, once (about five minutes)",
  },
  etcdutl: { packages: ["go.etcd.io/etcd/etcdutl/v3"], takes: "etcdutl with Go, once (about a minute)" },
} as const;

const SOURCE = fileURLToPath(new URL("../control-plane", import.meta.url));

/** Where a build lies, or will lie. */
export async function folderOfBuild(name: keyof typeof BUILDS): Promise<string> {
  const hash = createHash("sha256").update(KUBERNETES_VERSION);
  for (const file of ["go.mod", "go.sum"]) hash.update(await readFile(join(SOURCE, file)));
  return join(cacheFolder(), name, hash.digest("hex").slice(0, 16));
}

/** Builds it with Go unless it is there, and says where it is; rejects with what Go said. */
export async function buildOnce(name: keyof typeof BUILDS, say: (line: string) => void): Promise<string> {
  const folder = await folderOfBuild(name);
  const { packages, takes } = BUILDS[name];
  await makeOnce(folder, async (temporary) => {
    say(`building ${takes} …`);
    const version = `-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`;
    const args = ["build", "-o", `${temporary}/`, "-ldflags", `-s -w ${version}`, ...packages];
    await runProgram("go", args, { folder: SOURCE });
    // Go names a tool after the last part of its path.
    if (name === "control-plane") await rename(join(temporary, "server"), join(temporary, "etcd"));
  });
  return folder;
}

import { createHash } from "node:crypto";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "#core/message-of.ts";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { findProgram, isExecutable } from "#test/setup/find-program.ts";
import { cacheFolder, makeOnce } from "#test/setup/make-once.ts";
import type { Part } from "#test/setup/parts.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The version that the Go module in test/control-plane builds, and reports itself to be. */
const KUBERNETES_VERSION = "v1.36.3";

/**
 * kube-apiserver and etcd: from the folder in KUBEBUILDER_ASSETS, from the PATH, or built once with Go, which takes
 * minutes the first time.
 */
export async function getControlPlaneBinaries(
  say: (line: string) => void,
): Promise<Part<ControlPlaneBinaries>> {
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && assets !== "") {
    const found = await inFolder(assets);
    if (found !== undefined) return { kind: "present", value: found };
    return { kind: "missing", because: `KUBEBUILDER_ASSETS=${assets} has no kube-apiserver and etcd` };
  }
  const found = await onPath();
  if (found !== undefined) return { kind: "present", value: found };
  if ((await findProgram("go")) === undefined) {
    const because =
      "no kube-apiserver and etcd in KUBEBUILDER_ASSETS or on the PATH, and no Go to build them";
    return { kind: "missing", because };
  }
  return build(say);
}

async function build(say: (line: string) => void): Promise<Part<ControlPlaneBinaries>> {
  const source = fileURLToPath(new URL("../control-plane", import.meta.url));
  const folder = join(cacheFolder(), "control-plane", await hashOf(source));
  try {
    await makeOnce(folder, async (temporary) => {
      say(`building kube-apiserver ${KUBERNETES_VERSION} and etcd with Go, once (about five minutes) …`);
      const version = `-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`;
      const args = ["build", "-o", temporary, "-ldflags", `-s -w ${version}`, "tool"];
      await runProgram("go", args, { folder: source });
      // Go names a tool after the last part of its path.
      await rename(join(temporary, "server"), join(temporary, "etcd"));
    });
  } catch (error) {
    return { kind: "missing", because: `Go could not build kube-apiserver and etcd: ${messageOf(error)}` };
  }
  const built = await inFolder(folder);
  if (built !== undefined) return { kind: "present", value: built };
  return { kind: "missing", because: `${folder} is incomplete: remove it` };
}

async function hashOf(source: string): Promise<string> {
  const hash = createHash("sha256").update(KUBERNETES_VERSION);
  for (const name of ["go.mod", "go.sum"]) hash.update(await readFile(join(source, name)));
  return hash.digest("hex").slice(0, 16);
}

async function inFolder(folder: string): Promise<ControlPlaneBinaries | undefined> {
  const [kubeApiserver, etcd, etcdutl] = [
    join(folder, "kube-apiserver"),
    join(folder, "etcd"),
    join(folder, "etcdutl"),
  ];
  if (!(await isExecutable(kubeApiserver)) || !(await isExecutable(etcd))) return undefined;
  return { kubeApiserver, etcd, ...((await isExecutable(etcdutl)) ? { etcdutl } : {}) };
}

async function onPath(): Promise<ControlPlaneBinaries | undefined> {
  const [kubeApiserver, etcd] = [await findProgram("kube-apiserver"), await findProgram("etcd")];
  if (kubeApiserver === undefined || etcd === undefined) return undefined;
  const etcdutl = await findProgram("etcdutl");
  return { kubeApiserver, etcd, ...(etcdutl === undefined ? {} : { etcdutl }) };
}

import { join } from "node:path";
import { messageOf } from "#core/message-of.ts";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { buildOnce, chosenMinor, folderOfBuild } from "#test/setup/control-plane-build.ts";
import { findProgram, isExecutable } from "#test/setup/find-program.ts";
import type { Part } from "#test/setup/parts.ts";

/**
 * kube-apiserver and etcd: from the folder in KUBEBUILDER_ASSETS, from the PATH, or built once with Go, which takes
 * minutes the first time. A run that asks for a minor of Kubernetes gets the one built from that minor's module.
 */
export async function getControlPlaneBinaries(
  say: (line: string) => void,
): Promise<Part<Omit<ControlPlaneBinaries, "etcdutl">>> {
  if (chosenMinor() !== undefined) return withGo(say);
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && assets !== "") {
    const found = await inFolder(assets);
    if (found !== undefined) return { kind: "present", value: found };
    return { kind: "missing", because: `KUBEBUILDER_ASSETS=${assets} has no kube-apiserver and etcd` };
  }
  const [kubeApiserver, etcd] = [await findProgram("kube-apiserver"), await findProgram("etcd")];
  if (kubeApiserver !== undefined && etcd !== undefined)
    return { kind: "present", value: { kubeApiserver, etcd } };
  return withGo(say, "no kube-apiserver and etcd in KUBEBUILDER_ASSETS or on the PATH, and ");
}

/**
 * etcdutl, which sets etcd back to a backup: from the same places. Who has the other two often has not this one; it is built by
 * itself then.
 */
export async function getEtcdutl(say: (line: string) => void): Promise<Part<string>> {
  const folders = [
    chosenMinor() === undefined ? process.env["KUBEBUILDER_ASSETS"] : undefined,
    await folderOfBuild("control-plane"),
  ];
  for (const folder of folders) {
    if (folder && (await isExecutable(join(folder, "etcdutl"))))
      return { kind: "present", value: join(folder, "etcdutl") };
  }
  const found = await findProgram("etcdutl");
  if (found !== undefined) return { kind: "present", value: found };
  if ((await findProgram("go")) === undefined) {
    const because = "no etcdutl in KUBEBUILDER_ASSETS or on the PATH, and no Go to build it";
    return { kind: "missing", because };
  }
  try {
    return { kind: "present", value: join(await buildOnce("etcdutl", say), "etcdutl") };
  } catch (error) {
    return { kind: "missing", because: `Go could not build etcdutl: ${messageOf(error)}` };
  }
}

async function withGo(say: (line: string) => void, beside = ""): ReturnType<typeof getControlPlaneBinaries> {
  if ((await findProgram("go")) === undefined)
    return { kind: "missing", because: `${beside}no Go to build kube-apiserver and etcd` };
  try {
    const folder = await buildOnce("control-plane", say);
    const built = await inFolder(folder);
    if (built !== undefined) return { kind: "present", value: built };
    return { kind: "missing", because: `${folder} is incomplete: remove it` };
  } catch (error) {
    return { kind: "missing", because: `Go could not build kube-apiserver and etcd: ${messageOf(error)}` };
  }
}

async function inFolder(folder: string): Promise<Omit<ControlPlaneBinaries, "etcdutl"> | undefined> {
  const [kubeApiserver, etcd] = [join(folder, "kube-apiserver"), join(folder, "etcd")];
  const isThere = (await isExecutable(kubeApiserver)) && (await isExecutable(etcd));
  return isThere ? { kubeApiserver, etcd } : undefined;
}

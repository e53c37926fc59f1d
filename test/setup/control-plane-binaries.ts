import { join } from "node:path";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { buildOnce, getBuildFolder, getChosenMinor } from "#test/setup/control-plane-build.ts";
import { findProgram, isExecutable } from "#test/setup/find-program.ts";
import { LEFT_TO_ALL } from "#test/setup/modes.ts";
import type { Part } from "#test/setup/parts.ts";

/**
 * Returns kube-apiserver and etcd: from the folder in KUBEBUILDER_ASSETS, from the PATH, or built once with
 * Go, which takes minutes. A run with a chosen minor of Kubernetes gets the build of that minor's module.
 */
export async function getControlPlaneBinaries(
  say: (line: string) => void,
  mayBuild = true,
): Promise<Part<Omit<ControlPlaneBinaries, "etcdutl">>> {
  if (getChosenMinor() !== undefined) return withGo(say, mayBuild);
  const assets = process.env["KUBEBUILDER_ASSETS"];
  if (assets !== undefined && assets !== "") {
    const found = await inFolder(assets);
    if (found !== undefined) return { kind: "present", value: found };
    return { kind: "missing", because: `KUBEBUILDER_ASSETS=${assets} has no kube-apiserver and etcd` };
  }
  const [kubeApiserver, etcd] = [await findProgram("kube-apiserver"), await findProgram("etcd")];
  if (kubeApiserver !== undefined && etcd !== undefined)
    return { kind: "present", value: { kubeApiserver, etcd } };
  return withGo(say, mayBuild, "no kube-apiserver and etcd in KUBEBUILDER_ASSETS or on the PATH, and ");
}

/**
 * Returns etcdutl, which restores etcd from a backup. It comes from the same places; machines with the other
 * two often lack it, so it is built separately.
 */
export async function getEtcdutl(say: (line: string) => void, mayBuild = true): Promise<Part<string>> {
  const folders = [
    getChosenMinor() === undefined ? process.env["KUBEBUILDER_ASSETS"] : undefined,
    await getBuildFolder("control-plane"),
  ];
  for (const folder of folders) {
    if (folder && (await isExecutable(join(folder, "etcdutl"))))
      return { kind: "present", value: join(folder, "etcdutl") };
  }
  const found = await findProgram("etcdutl");
  if (found !== undefined) return { kind: "present", value: found };
  if (!mayBuild) return LEFT_TO_ALL;
  if ((await findProgram("go")) === undefined) {
    const because = "no etcdutl in KUBEBUILDER_ASSETS or on the PATH, and no Go to build it";
    return { kind: "missing", because };
  }
  try {
    return { kind: "present", value: join(await buildOnce("etcdutl", say), "etcdutl") };
  } catch (error) {
    return { kind: "missing", because: `Go could not build etcdutl: ${getErrorMessage(error)}` };
  }
}

async function withGo(
  say: (line: string) => void,
  mayBuild: boolean,
  beside = "",
): ReturnType<typeof getControlPlaneBinaries> {
  if (!mayBuild) {
    const value = await inFolder(await getBuildFolder("control-plane"));
    return value === undefined ? LEFT_TO_ALL : { kind: "present", value };
  }
  if ((await findProgram("go")) === undefined)
    return { kind: "missing", because: `${beside}no Go to build kube-apiserver and etcd` };
  try {
    const folder = await buildOnce("control-plane", say);
    const built = await inFolder(folder);
    if (built !== undefined) return { kind: "present", value: built };
    return { kind: "missing", because: `${folder} is incomplete: remove it` };
  } catch (error) {
    return {
      kind: "missing",
      because: `Go could not build kube-apiserver and etcd: ${getErrorMessage(error)}`,
    };
  }
}

async function inFolder(folder: string): Promise<Omit<ControlPlaneBinaries, "etcdutl"> | undefined> {
  const [kubeApiserver, etcd] = [join(folder, "kube-apiserver"), join(folder, "etcd")];
  const isThere = (await isExecutable(kubeApiserver)) && (await isExecutable(etcd));
  return isThere ? { kubeApiserver, etcd } : undefined;
}

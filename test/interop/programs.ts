import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The other programs of the cluster, by path. */
export interface NeighbourPrograms {
  readonly kubeControllerManager: string;
  /** The kubelet's code on kubemark's hollow machine; see kubelet/main.go. */
  readonly kubelet: string;
}

/** The version of Kubernetes in go.mod, and of the API server. */
const KUBERNETES_VERSION = "v1.36.3";

const SOURCE = fileURLToPath(new URL(".", import.meta.url));

/** Builds the missing programs with Go; rejects with Go's output. */
export async function getNeighbourPrograms(say: (line: string) => void): Promise<NeighbourPrograms> {
  const hash = createHash("sha256").update(KUBERNETES_VERSION);
  for (const file of ["go.mod", "go.sum", "kubelet/main.go"]) hash.update(await readFile(join(SOURCE, file)));
  const folder = join(getCacheFolder(), "neighbours", hash.digest("hex").slice(0, 16));
  await makeOnce(folder, async (temporary) => {
    say("building kube-controller-manager and the hollow kubelet with Go, once (about three minutes) …");
    const version = `-X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`;
    const args = ["build", "-o", `${temporary}/`, "-ldflags", `-s -w ${version}`, "./kubelet", "tool"];
    await runProgram("go", args, { folder: SOURCE });
  });
  return {
    kubeControllerManager: join(folder, "kube-controller-manager"),
    kubelet: join(folder, "kubelet"),
  };
}

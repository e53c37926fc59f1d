import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ControlPlaneBinaries } from "#emulators/harness/kube-apiserver.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getCacheFolder, makeOnce } from "#test/setup/make-once.ts";
import { runProgram } from "#test/setup/run-program.ts";

/** The paths of the measured programs, and of those that the measurement needs. */
export interface Programs {
  readonly controlPlane: ControlPlaneBinaries;
  readonly floor: string;
  /** aws-cloud-controller-manager. */
  readonly stock: string;
}

/** Returns the version of aws-cloud-controller-manager in bench/stock/go.mod. */
export async function readStockVersion(): Promise<string> {
  const module = await readFile(join(STOCK, "go.mod"), "utf8");
  return /k8s\.io\/cloud-provider-aws (v[\d.]+)/.exec(module)?.[1] ?? "unknown";
}

/** Finds or builds, once, all programs of a bench; the first time takes Go about ten minutes on two cores. */
export async function getPrograms(say: (line: string) => void): Promise<Programs> {
  const part = await getControlPlaneBinaries(say);
  if (part.kind === "missing") throw new Error(`the bench needs a control plane: ${part.because}`);
  if ((await findProgram("go")) === undefined)
    throw new Error("the bench needs Go to build what it compares with");
  return {
    controlPlane: part.value,
    floor: await getFloor(say),
    stock: await buildProgram("aws-cloud-controller-manager", STOCK, ["go.mod", "go.sum"], "tool", say),
  };
}

/** Builds the floor program, once; a few seconds. */
export function getFloor(say: (line: string) => void): Promise<string> {
  return buildProgram("floor", FLOOR, ["go.mod", "main.go"], ".", say);
}

const FLOOR = fileURLToPath(new URL("floor", import.meta.url));
const STOCK = fileURLToPath(new URL("stock", import.meta.url));

async function buildProgram(
  name: string,
  source: string,
  inputs: readonly string[],
  what: string,
  say: (line: string) => void,
): Promise<string> {
  const hash = createHash("sha256");
  for (const input of inputs) hash.update(await readFile(join(source, input)));
  const folder = join(getCacheFolder(), "bench", `${name}-${hash.digest("hex").slice(0, 16)}`);
  await makeOnce(folder, async (temporary) => {
    say(`building ${name} with Go, once …`);
    const args = ["build", "-o", `${temporary}/`, "-ldflags", "-s -w", what];
    await runProgram("go", args, { folder: source });
  });
  return join(folder, name);
}

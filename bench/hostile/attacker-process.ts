import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Machine } from "#bench/hostile/join-steadily.ts";
import { Tenant } from "#bench/idle/tenant.ts";
import { waitForOutput } from "#bench/idle/wait-for-output.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** The hostile API server, and its controls. */
export interface Attacker {
  readonly tenant: Tenant;
  order(order: `/attack/${string}` | `/noise/${string}` | "/rest"): Promise<void>;
  sentBytes(): Promise<number>;
  stop(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("attacker.ts", import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** Starts the attacker at rest, with its own cluster in the folder. */
export async function startAttacker(
  folder: string,
  options: {
    readonly bytesPerSecond: number;
    readonly machines: readonly Machine[];
    readonly others: readonly Machine[];
  },
): Promise<Attacker> {
  const [optionsFile, tenantFile] = [join(folder, "attacker.json"), join(folder, "hostile-tenant.json")];
  await writeFile(optionsFile, JSON.stringify({ ...options, folder: join(folder, "hostile") }));
  const program = startProcess(process.execPath, [PROGRAM, optionsFile, tenantFile]);
  const url = (): string | undefined => /orders at (\S+)/.exec(program.output())?.[1];
  await waitForOutput(program, () => url() !== undefined, "the hostile server", START_TIMEOUT_MS);
  const ask = async (path: string): Promise<string> => {
    const answer = await fetch(`${url()}${path}`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the hostile server answered ${path} with ${text}`);
    return text;
  };
  return {
    tenant: Tenant.parse(JSON.parse(await readFile(tenantFile, "utf8"))),
    order: async (order) => void (await ask(order)),
    sentBytes: async () => Number(await ask("/sent")),
    stop: () => program.stop("SIGKILL"),
  };
}

import { setTimeout as sleep } from "node:timers/promises";
import type { ManagedProcess } from "#emulators/harness/managed-process.ts";

/**
 * Waits for a process's line that it is ready; rejects with the end of its output if it ends or takes too
 * long.
 */
export async function waitForOutput(
  program: ManagedProcess,
  said: () => boolean,
  what: string,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!said()) {
    if (program.hasExited()) throw new Error(`${what} ended: ${program.output()}`);
    if (performance.now() > deadline)
      throw new Error(`${what} was not ready in ${timeoutMs} ms: ${program.output()}`);
    await sleep(50);
  }
}

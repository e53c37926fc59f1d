import { setTimeout as sleep } from "node:timers/promises";
import type { ManagedProcess } from "#emulators/harness/managed-process.ts";

/** Waits for what a process says once it is ready; rejects with its last words where it ends or takes too long. */
export async function untilSaid(
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

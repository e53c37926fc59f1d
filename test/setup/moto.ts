import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";

/** A running moto_server; it accepts any credentials. */
export interface Moto {
  /** The endpoint of all its services, for AWS_ENDPOINT_URL_EC2 and _STS. */
  readonly url: string;
  /** Deletes everything in it. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts moto_server on a free port of 127.0.0.1, with additional environment variables. It ends with this
 * process in every case.
 */
export async function startMoto(
  { program, args }: MotoProgram,
  environment: Readonly<Record<string, string>> = {},
): Promise<Moto> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const child = startProcess(program, [...args, "-H", "127.0.0.1", "-p", String(port)], {
    environment: { ...process.env, ...environment },
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(url))) {
    if (child.hasExited() || performance.now() > deadline) {
      await child.stop("SIGKILL");
      throw new Error(`moto_server did not answer at ${url}:\n${child.output()}`);
    }
    await sleep(50);
  }
  return {
    url,
    reset: async () => {
      const answer = await fetch(`${url}/moto-api/reset`, { method: "POST" });
      if (!answer.ok) throw new Error(`moto_server at ${url} answered ${answer.status} to its reset`);
    },
    close: () => child.stop("SIGKILL"),
  };
}

/** Its import takes seconds until its byte code is compiled, and minutes on a machine with too much other work. */
const START_TIMEOUT_MS = 180_000;

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/moto-api/data.json`, { signal: AbortSignal.timeout(5_000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

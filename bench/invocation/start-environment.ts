import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Timing } from "#bench/cost/measured.ts";
import type { EnvironmentMessage } from "#bench/invocation/environment.ts";
import type { Event } from "#core/event.ts";

/** The measurement of one invocation. */
export interface Invocation extends Timing {
  readonly report: unknown;
  readonly logLines: number;
  readonly logBytes: number;
  readonly peakMemoryMiB: number;
}

/** A process that has loaded the packaged function; its starter ends it. */
export interface Environment {
  /** From the start of the process until the handler was loaded. */
  readonly start: Timing;
  invoke(event: Event): Promise<Invocation>;
  end(): Promise<void>;
}

/** Starts an environment with only these variables, and waits until it has loaded. */
export async function startEnvironment(
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Environment> {
  const child = fork(PROGRAM, {
    env: variables,
    execArgv: [],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const loaded = await waitForMessage(child);
  if (loaded.kind !== "loaded") throw new Error("the environment ran something before it had loaded");
  return {
    start: loaded.timing,
    async invoke(event) {
      child.send(event);
      const ran = await waitForMessage(child);
      if (ran.kind !== "ran") throw new Error("the environment loaded twice");
      const { kind: _, timing, ...rest } = ran;
      return { ...timing, ...rest };
    },
    async end() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

const PROGRAM = fileURLToPath(new URL("environment.ts", import.meta.url));

async function waitForMessage(child: ChildProcess): Promise<EnvironmentMessage> {
  const settled = new AbortController();
  const { signal } = settled;
  const exited = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`the environment ended with ${code} before it answered`);
  });
  try {
    const [message] = await Promise.race([once(child, "message", { signal }), exited]);
    return message as EnvironmentMessage;
  } finally {
    settled.abort();
  }
}

import { Worker } from "node:worker_threads";

/** Far more than any linear work on a text takes, on the busiest machine. */
const KILL_AFTER_MS = 30_000;

/** A worker's message after each of its jobs: undefined, or the error. */
export type JobMessage = string | undefined;

/**
 * Runs jobs in a worker and ends it if one of them takes half a minute: only a worker can be ended during a
 * regular expression. `names` are the jobs in the worker's order; its `workerData` is the number of the first
 * one. Resolves with the errors.
 */
export async function runUntilStuck(file: URL, names: readonly string[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (let from = 0; from < names.length; from += 1) {
    from += await runFrom(file, from, (job, message) => {
      if (message !== undefined) wrong.push(`${names[job]}: ${message}`);
    });
    if (from < names.length) wrong.push(`${names[from]}: does not end within ${KILL_AFTER_MS / 1_000} s`);
  }
  return wrong;
}

/** Resolves with the number of completed jobs. */
async function runFrom(
  file: URL,
  first: number,
  tell: (job: number, message: JobMessage) => void,
): Promise<number> {
  const worker = new Worker(file, { workerData: first });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let done = 0;
  let timer = setTimeout(resolve, KILL_AFTER_MS);
  worker.on("message", (message: JobMessage) => {
    tell(first + done, message);
    done += 1;
    clearTimeout(timer);
    timer = setTimeout(resolve, KILL_AFTER_MS);
  });
  worker.on("error", reject);
  worker.on("exit", () => resolve());
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
  return done;
}

import { Worker } from "node:worker_threads";

/** Far more than anything takes that is done in proportion to a text's length, on the busiest machine. */
const KILL_AFTER_MS = 30_000;

/** What a worker says after each of its jobs: nothing, or what went wrong in it. */
export type JobMessage = string | undefined;

/**
 * Runs jobs in a worker and ends it where one of them takes half a minute: a worker is all that can be ended while a regular expression
 * is at work. `names` are the jobs in the worker's order; its `workerData` is the number of the first one. Resolves with what is wrong.
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

/** Resolves with how many jobs came to an end. */
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

import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { type LambdaContext, type LambdaHandler, startLambda } from "#emulators/lambda/server.ts";

// Runs the packaged function behind Lambda's Invoke API, in its own process: `node lambda-platform.ts PORT
// ENVIRONMENTS CONCURRENCY`. One environment takes all invocations at once; Lambda would have one for each
// concurrent invocation, and so have several here. They are threads, which share no memory.

const FUNCTION = "../../dist/node/index.mjs";
const TIMEOUT_MS = 30_000;

/** An invocation on its way to an environment, and its result. */
interface Job {
  readonly event: unknown;
  readonly awsRequestId: string;
  readonly functionName: string;
  readonly deadlineMs: number;
}

type Result = { readonly value: unknown } | { readonly error: string };

if (isMainThread) await serve();
else await serveJobs();

async function serve(): Promise<void> {
  const [port, environments, concurrency] = process.argv.slice(2).map(Number);
  if (port === undefined || environments === undefined || concurrency === undefined)
    throw new Error("give PORT ENVIRONMENTS CONCURRENCY");
  const handler = environments === 1 ? await importHandler() : await createPool(environments);
  const server = await startLambda({
    functions: { "bench-node": handler },
    timeoutMs: TIMEOUT_MS,
    concurrency,
    port,
  });
  process.stdout.write(`listening on ${server.url}\n`);
}

async function importHandler(): Promise<LambdaHandler> {
  const { handler } = await import(FUNCTION);
  return handler;
}

/** Starts environments, and returns a handler that gives each invocation to one that is free, by chance. */
async function createPool(size: number): Promise<LambdaHandler> {
  const free: Worker[] = [];
  const waiting: ((worker: Worker) => void)[] = [];
  for (let started = 0; started < size; started += 1) {
    const worker = new Worker(fileURLToPath(import.meta.url));
    await once(worker, "message");
    free.push(worker);
  }
  const take = (): Promise<Worker> => {
    const [worker] = free.splice(Math.floor(Math.random() * free.length), 1);
    return worker === undefined
      ? new Promise((resolve) => void waiting.push(resolve))
      : Promise.resolve(worker);
  };
  return async (event, { awsRequestId, functionName, getRemainingTimeInMillis }) => {
    const deadlineMs = Date.now() + getRemainingTimeInMillis();
    const worker = await take();
    const answered = once(worker, "message");
    worker.postMessage({ event, awsRequestId, functionName, deadlineMs } satisfies Job);
    const [result]: Result[] = await answered;
    const next = waiting.shift();
    if (next === undefined) free.push(worker);
    else next(worker);
    if (result === undefined || "error" in result) throw new Error(result?.error ?? "no result");
    return result.value;
  };
}

async function serveJobs(): Promise<void> {
  const handler = await importHandler();
  parentPort?.on("message", async ({ event, deadlineMs, ...facts }: Job) => {
    const context: LambdaContext = { ...facts, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
    const result: Result = await handler(event, context).then(
      (value) => ({ value }),
      (error) => ({ error: String(error) }),
    );
    parentPort?.postMessage(result);
  });
  parentPort?.postMessage("ready");
}

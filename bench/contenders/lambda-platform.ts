import { startLambda } from "#emulators/lambda/server.ts";

// The packaged function behind Lambda's Invoke API, in a process of its own: `node lambda-platform.ts PORT [CONCURRENCY]`. Where Lambda would
// have one environment for each invocation at a time, this is one warm one for all.

const FUNCTION = "../../dist/node/index.mjs";
const TIMEOUT_MS = 30_000;
/** An account's, unless told. */
const CONCURRENCY = 1_000;

const { handler } = await import(FUNCTION);
const server = await startLambda({
  functions: { "bench-node": handler },
  timeoutMs: TIMEOUT_MS,
  concurrency: Number(process.argv[3] ?? CONCURRENCY),
  port: Number(process.argv[2]),
});
process.stdout.write(`listening on ${server.url}\n`);

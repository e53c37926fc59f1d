import { setFlagsFromString } from "node:v8";

/** V8's option for the half of the heap's youngest part. */
const YOUNG_GENERATION = "max-semi-space-size";

/**
 * 4 MiB in place of 32. A list of nodes that is parsed lives long enough to make the young generation grow to its limit, where it
 * stays, and with it the buffers that wait for its next collection: of a relay with a hundred clusters that was a third. Measured in
 * docs/decisions; 2 MiB and less cost CPU.
 */
const YOUNG_MEBIBYTES = 4;

/**
 * The rest of the heap may double between two collections, where V8 lets it grow fourfold: of 5,000 nodes that come at once
 * 40 MiB are live, and the heap was at 130. Half of that growth costs a quarter more CPU, doubling about a twentieth.
 */
const GROWTH = "--heap-growing-percent=100";

/** Whether it has been chosen, on the command line or in NODE_OPTIONS; V8 takes underscores for hyphens. */
export function isYoungGenerationLimited(
  execArgv: readonly string[],
  nodeOptions: string | undefined,
): boolean {
  return [...execArgv, nodeOptions ?? ""].some((each) =>
    each.replaceAll("_", "-").includes(`--${YOUNG_GENERATION}`),
  );
}

/**
 * Keeps the heap of this process near what it needs. V8 reads the size of the young generation when it starts and never again, so
 * this program is started anew in the same process, unless that size is chosen already or a process cannot be replaced here. Call
 * it before anything has been done.
 */
export function keepHeapSmall(): void {
  // V8 reads this one at every collection, and a V8 that does not know it goes on without it.
  setFlagsFromString(GROWTH);
  if (process.execve === undefined || process.platform === "win32") return;
  if (isYoungGenerationLimited(process.execArgv, process.env["NODE_OPTIONS"])) return;
  const options = [...process.execArgv, `--${YOUNG_GENERATION}=${YOUNG_MEBIBYTES}`];
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], process.env);
}

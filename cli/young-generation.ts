/** V8's option for the half of the heap's youngest part. */
const OPTION = "max-semi-space-size";

/**
 * 4 MiB in place of 32. A list of nodes that is parsed lives long enough to make the young generation grow to its limit, where it
 * stays, and with it the buffers that wait for its next collection: of a relay with a hundred clusters that was a third. Measured in
 * docs/decisions; 2 MiB and less cost CPU.
 */
const MEBIBYTES = 4;

/** Whether it has been chosen, on the command line or in NODE_OPTIONS; V8 takes underscores for hyphens. */
export function isYoungGenerationLimited(
  execArgv: readonly string[],
  nodeOptions: string | undefined,
): boolean {
  return [...execArgv, nodeOptions ?? ""].some((each) => each.replaceAll("_", "-").includes(`--${OPTION}`));
}

/**
 * Starts this program anew in the same process, with a small young generation, unless that is chosen already: V8 reads the option
 * when it starts, and never again. Does nothing where a process cannot be replaced.
 */
export function limitYoungGeneration(): void {
  if (process.execve === undefined || process.platform === "win32") return;
  if (isYoungGenerationLimited(process.execArgv, process.env["NODE_OPTIONS"])) return;
  const options = [...process.execArgv, `--${OPTION}=${MEBIBYTES}`];
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], process.env);
}

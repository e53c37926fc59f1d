import { setFlagsFromString } from "node:v8";
import type { Command } from "commander";
import { addFunctionFlags, addFunctionServerFlags, addServingFlags, listGivenFlags } from "#cli/flags.ts";
import { outliveHangups } from "#cli/process.ts";

/**
 * Adds `run` and `relay`, which follow clusters, and `functions`, which serves functions to relays; `mainURL` is the
 * program that worker threads start.
 */
export function addRunCommands(program: Command, mainURL: string): void {
  addServingFlags(program.command("run"))
    .summary("relay and functions in one process")
    .description("Watches clusters and does their work, relay and functions in this one process.")
    .action(async (flags, command: Command) => {
      outliveHangups();
      keepHeapSmall();
      const { readRunSettings, run } = await import("#cli/run/run.ts");
      await run(await readRunSettings({ ...flags, given: listGivenFlags(command) }, process.env), mainURL);
    });

  addServingFlags(program.command("relay"), addFunctionFlags)
    .summary("watches clusters and invokes the deployed functions")
    .description(
      "Watches clusters and invokes functions, which are deployed to AWS Lambda or served over HTTP.",
    )
    .action(async (flags, command: Command) => {
      outliveHangups();
      keepHeapSmall();
      const { readRelaySettings } = await import("#cli/relay/relay-settings.ts");
      const settings = await readRelaySettings({ ...flags, given: listGivenFlags(command) }, process.env);
      const { runRelay } = await import("#cli/relay/relay.ts");
      await runRelay(settings, mainURL);
    });

  addFunctionServerFlags(program.command("functions"))
    .summary("serves the functions over HTTP")
    .description(
      "Serves the functions over HTTP, for relays with --platform http.\nThe environment says which clusters there are, and the rest as on AWS Lambda: CLUSTERS_FILE, STOP_SWITCH, ….",
    )
    .action(async (flags) => {
      outliveHangups();
      const { readFunctionsSettings } = await import("#cli/functions/functions-settings.ts");
      const settings = await readFunctionsSettings(flags, process.env);
      const { serveFunctions } = await import("#cli/functions/serve-functions.ts");
      await serveFunctions(settings, process.env);
    });
}

/** V8's option for half of the heap's young generation. */
const YOUNG_GENERATION = "max-semi-space-size";

/**
 * 4 MiB instead of 32. A long list of nodes makes the young generation grow to its limit, where it stays,
 * together with buffers that wait for its next collection. In a relay with a hundred clusters that was a
 * third of the memory. Measured in docs/decisions; 2 MiB and less cost CPU.
 */
const YOUNG_MEBIBYTES = 4;

/**
 * The rest of the heap may double between two collections, instead of V8's fourfold growth. When 5,000 nodes
 * come at once, 40 MiB are live, and the heap was at 130. Half of that growth costs a quarter more CPU,
 * doubling about a twentieth.
 */
const GROWTH = "--heap-growing-percent=100";

/**
 * Returns whether the size was set on the command line or in NODE_OPTIONS; V8 accepts underscores for
 * hyphens.
 */
export function isYoungGenerationLimited(
  execArgv: readonly string[],
  nodeOptions: string | undefined,
): boolean {
  return [...execArgv, nodeOptions ?? ""].some((each) =>
    each.replaceAll("_", "-").includes(`--${YOUNG_GENERATION}`),
  );
}

/**
 * Keeps the heap of this process close to what it needs. V8 reads the size of the young generation only at
 * its start. So this restarts the program in the same process, unless the size is already set or the platform cannot
 * replace a process. Call it first.
 */
function keepHeapSmall(): void {
  // V8 reads this flag at every collection, and ignores it if it does not know it.
  setFlagsFromString(GROWTH);
  if (process.execve === undefined || process.platform === "win32") return;
  if (isYoungGenerationLimited(process.execArgv, process.env["NODE_OPTIONS"])) return;
  const options = [...process.execArgv, `--${YOUNG_GENERATION}=${YOUNG_MEBIBYTES}`];
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], process.env);
}

import type { Command } from "commander";
import { addFunctionFlags, addServingFlags, listGivenFlags } from "#cli/flags.ts";
import { outliveHangups } from "#cli/process.ts";
import { keepHeapSmall } from "#cli/relay/small-heap.ts";

/** Adds `run` and `relay`, which follow clusters; `mainURL` is the program that their worker threads start. */
export function addRunCommands(program: Command, mainURL: string): void {
  addServingFlags(program.command("run"))
    .summary("relay and functions in one process")
    .description("Watches clusters and does their work, relay and functions in this one process.")
    .action(async (flags, command: Command) => {
      outliveHangups();
      keepHeapSmall();
      const { run } = await import("#cli/run/run.ts");
      await run({ ...flags, given: listGivenFlags(command) }, mainURL);
    });

  addServingFlags(program.command("relay"), addFunctionFlags)
    .summary("watches clusters and invokes the deployed functions")
    .description("Watches clusters and invokes the functions that are deployed to AWS Lambda.")
    .action(async (flags, command: Command) => {
      outliveHangups();
      keepHeapSmall();
      const { runRelay: relay } = await import("#cli/relay/relay.ts");
      await relay({ ...flags, given: listGivenFlags(command) }, mainURL);
    });
}

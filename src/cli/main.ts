#!/usr/bin/env node
import { isMainThread, workerData } from "node:worker_threads";
import { Command, CommanderError } from "commander";
import { addClusterCommands } from "#cli/clusters/commands.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { addEmergencyCommands } from "#cli/deletion/commands.ts";
import { addTryCommands } from "#cli/demo/commands.ts";
import { addLookCommands } from "#cli/doctor/commands.ts";
import { addMoveCommands } from "#cli/handover/commands.ts";
import { addInfraCommands } from "#cli/infra/commands.ts";
import { RUN_WORKER } from "#cli/relay/relay-worker-data.ts";
import { addRunCommands } from "#cli/run/commands.ts";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import packageJson from "../../package.json" with { type: "json" };

/** Exit codes: success, failure, wrong usage or configuration. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** The limit of lines of an error message. */
const MAX_LINES = 1_000;
const MAX_LINE_CHARACTERS = 1_024;

const program = new Command("serverless-ccm")
  .description(`${packageJson.description}`)
  .version(packageJson.version)
  .showHelpAfterError("(see --help)")
  .configureHelp({ showGlobalOptions: false, subcommandTerm: (command) => command.name() })
  .exitOverride();

addRunCommands(program.commandsGroup("Run:"), import.meta.url);
addClusterCommands(program.commandsGroup("Clusters:"));
addInfraCommands(program);
addLookCommands(program.commandsGroup("Look:"));
addMoveCommands(program.commandsGroup("Move:"));
addEmergencyCommands(program.commandsGroup("Emergency:"));
addTryCommands(program.commandsGroup("Try:"));
// It joins the last group; without this call it would have a group of its own.
program.helpCommand("help [command]", "display help for command");

// Worker threads of relay and run start with this same program.
if (isMainThread) await main();
else if (workerData?.kind === RUN_WORKER)
  await (await import("#cli/run/run-worker.ts")).runRunWorker(workerData);
else await (await import("#cli/relay/relay-worker.ts")).runRelayWorker(workerData);

async function main(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = reportError(error);
  }
}

function reportError(error: unknown): number {
  // Commander has already printed what is wrong; its own exit code for --help and --version is 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  process.stderr.write(`serverless-ccm: ${sanitizeLines(getErrorMessage(error))}\n`);
  return error instanceof ConfigurationError ? WRONG_USAGE : FAILED;
}

/** Makes lines safe to print: the lines are ours, but may contain text from others. */
function sanitizeLines(message: string): string {
  return message
    .split("\n", MAX_LINES)
    .map((line) => sanitizeText(line, MAX_LINE_CHARACTERS))
    .join("\n");
}

import type { Command } from "commander";
import { addReachFlags, listGivenFlags, print } from "#cli/flags.ts";
import type { CheckFlags } from "#cli/handover/check/check.ts";
import type { HandoverFlags } from "#cli/handover/handover.ts";

/** Adds `handover` and `handback`, and `shadow`, an earlier name of `handover --check`. */
export function addMoveCommands(program: Command): void {
  const handover = addMoveFlags(program.command("handover"), "60s; with --check until SIGINT")
    .summary("take nodes over from another controller")
    .description(
      `${MOVE_DESCRIPTION}\nWith --check it writes nothing and prints where the other controller acts differently: 0 without differences, 1 with differences, 2 if there is nothing to compare with.`,
    )
    .option("--check", "compare with the other controller, and change nothing", false);
  addCheckFlags(handover).action(async (name, flags: HandoverFlags & CheckFlags, command: Command) => {
    if (flags.check === true) return check(name, flags, command);
    const { rejectCheckFlags } = await import("#cli/handover/check/check.ts");
    rejectCheckFlags(flags);
    return move("over", name, flags, command);
  });

  addMoveFlags(program.command("handback"), "60s")
    .summary("give nodes back to the other controller")
    .description(MOVE_DESCRIPTION)
    .action((name, flags: HandoverFlags, command: Command) => move("back", name, flags, command));

  addCheckFlags(addWatchFlags(program.command("shadow", { hidden: true }), "until SIGINT"))
    .summary("deprecated: handover --check")
    .description("Deprecated, and absent from the next version: use `handover --check`.")
    .action((name, flags: CheckFlags, command: Command) => {
      process.stderr.write(
        "serverless-ccm: shadow is deprecated and absent from the next version: use handover --check\n",
      );
      return check(name, flags, command);
    });
}

const MOVE_DESCRIPTION =
  "Prints the plan, changes our side, prints the flag for the other side, and watches that a controller serves every node.\nExit code 0 on success, 1 if a node was left alone or the wrong controller still works, 2 if it cannot start.";

function addMoveFlags(command: Command, watchesFor: string): Command {
  return addWatchFlags(command, watchesFor)
    .option("--dry-run", "print what would happen, and change nothing", false)
    .option(
      "--anyway",
      "continue although the other controller is not seen (handback), or may run Services, routes or tags",
      false,
    );
}

function addWatchFlags(command: Command, watchesFor: string): Command {
  return addReachFlags(command)
    .argument("[cluster]", "its name; needed with a clusters file that has several")
    .option("--for <duration>", `how long it watches (default: ${watchesFor})`)
    .option("--all", "all clusters, eight at a time; a summary at the end", false);
}

function addCheckFlags(command: Command): Command {
  return command
    .option("--once", "with --check: compare the nodes that are initialized now, and watch nothing", false)
    .option("--ignore <code...>", "with --check: differences that are known: CODE, or CODE:LABEL");
}

async function move(
  direction: "over" | "back",
  name: string | undefined,
  flags: HandoverFlags,
  command: Command,
): Promise<void> {
  const { runHandover } = await import("#cli/handover/handover.ts");
  await runHandover(direction, name, { ...flags, given: listGivenFlags(command) }, print);
}

async function check(name: string | undefined, flags: CheckFlags, command: Command): Promise<void> {
  const { runCheck } = await import("#cli/handover/check/check.ts");
  await runCheck(name, { ...flags, given: listGivenFlags(command) }, print);
}

import type { Command } from "commander";
import { addReachFlags, listGivenFlags, print } from "#cli/flags.ts";

/** Adds `shadow`, `handover` and `handback`. */
export function addMoveCommands(program: Command): void {
  addReachFlags(program.command("shadow"))
    .argument("[cluster]", "its name; needed with a clusters file that has several")
    .summary("compare with another controller")
    .description(
      "Watches a cluster in which another cloud-controller-manager works, and prints each difference. Writes nothing.\nExit code 0 without differences, 1 with differences, 2 if there is nothing to compare with.",
    )
    .option("--for <duration>", "how long it watches, such as 10m (default: until SIGINT)")
    .option("--once", "compare the nodes that are initialized now, and watch nothing", false)
    .option("--all", "all clusters, eight at a time, with --once or --for; a summary at the end", false)
    .option("--ignore <code...>", "differences that are known: CODE, or CODE:LABEL")
    .action(async (name, flags, command: Command) => {
      const { runShadow: shadow } = await import("#cli/shadow/shadow.ts");
      await shadow(name, { ...flags, given: listGivenFlags(command) }, print);
    });

  for (const direction of ["over", "back"] as const) {
    addReachFlags(program.command(`hand${direction}`))
      .argument("[cluster]", "its name; needed with a clusters file that has several")
      .summary(
        direction === "over"
          ? "take nodes over from another controller"
          : "give nodes back to the other controller",
      )
      .description(
        "Prints the plan, changes our side, prints the flag for the other side, and watches that a controller serves every node.\nExit code 0 on success, 1 if a node was left alone or the wrong controller still works, 2 if it cannot start.",
      )
      .option("--dry-run", "print what would happen, and change nothing", false)
      .option("--for <duration>", "how long it watches", "60s")
      .option("--all", "all clusters, eight at a time; a summary at the end", false)
      .option(
        "--anyway",
        "continue although the other controller is not seen (handback), or may run Services, routes or tags",
        false,
      )
      .action(async (name, flags, command: Command) => {
        const { runHandover: handover } = await import("#cli/handover/handover.ts");
        await handover(direction, name, { ...flags, given: listGivenFlags(command) }, print);
      });
  }
}

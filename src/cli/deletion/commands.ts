import type { Command } from "commander";
import {
  addClustersFileFlags,
  addFleetBrakeFlag,
  addReachFlags,
  addStopSwitchFlag,
  listGivenFlags,
  print,
} from "#cli/flags.ts";

/** Adds `brake` and `stop`, which hold back deletions and writes. */
export function addEmergencyCommands(program: Command): void {
  addFleetBrakeFlag(addReachFlags(program.command("brake")))
    .argument("[what]", "show or reset, or the cluster's name (default: show)")
    .argument("[cluster]", "the cluster; required with several clusters, unless --all is given")
    .summary("what holds back deletion: show, reset")
    .description(
      "Shows the deletion state of a cluster: whether the brake holds, since when and why.\nExit code 0 on success, even without a brake to reset; 1 if the state cannot be used.",
    )
    .option("--reset", "release the brake; deletions are counted from zero")
    .option("--all", "show all clusters, one line each")
    .option("--fleet", "use the brake that all clusters share")
    .option("--json", "as one line of JSON")
    .action(async (what, name, flags, command: Command) => {
      const { runBrake: brake, readBrakeWords } = await import("#cli/deletion/brake.ts");
      const { cluster, reset } = readBrakeWords([what, name], flags.reset === true);
      const own = { ...flags, reset };
      if (flags.fleet === true)
        return (await import("#cli/deletion/fleet-brake.ts")).runFleetBrake(cluster, own, print);
      await brake(cluster, { ...own, given: listGivenFlags(command) }, print);
    });

  addStopSwitchFlag(addClustersFileFlags(program.command("stop")))
    .summary("holds back writes or deletes, of one cluster or all")
    .description(
      "Stops writes or deletions of the relay, the functions and the sweep within 10 seconds, without a deployment.\nPrints what is stopped; without --writes and --deletes it only prints that.",
    )
    .option("--writes", "stop all writes, in clusters and in their clouds")
    .option("--deletes", "stop deletions, in clusters and in their clouds")
    .option("--cluster <name>", "of this cluster")
    .option("--all", "of all clusters")
    .option("--resume", "resume what is stopped")
    .option("--force", "replace a malformed record")
    .option("--json", "as one line of JSON")
    .action(async (flags) => (await import("#cli/deletion/stop.ts")).stop(flags, print));
}

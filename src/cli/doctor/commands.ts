import type { Command } from "commander";
import { addDeploymentFlags, addReachFlags, addStopSwitchFlag, listGivenFlags, print } from "#cli/flags.ts";

/** Adds `doctor` and `explain`, which read and change nothing. */
export function addLookCommands(program: Command): void {
  addDeploymentFlags(addStopSwitchFlag(addReachFlags(program.command("doctor"))))
    .argument("[cluster]", "its name; without it all clusters of a clusters file")
    .summary("find problems of a cluster, and their remedies")
    .description(
      "Checks what a cluster needs: API server, identities and their rights, kubelets, cloud, deletion, relay.\nExit code 0 on success, 1 if a check failed.",
    )
    .option("--fallback <where>", "in-process: check what a relay could do while the function platform fails")
    .option("--json", "a line of JSON for each check")
    .action(async (name, flags, command: Command) => {
      const { runDoctor: doctor } = await import("#cli/doctor/doctor.ts");
      await doctor(name, { ...flags, given: listGivenFlags(command) }, print);
    });

  addStopSwitchFlag(addReachFlags(program.command("explain")))
    .argument("<what>", "a node's name; or node or service")
    .argument("[name]", "after node its name, after service NAMESPACE/NAME; else the cluster's name")
    .argument("[cluster]", "the cluster (default: the one that has the object)")
    .summary("what a node or a Service waits for, and what to do")
    .description(
      "Reads a node or a Service, asks the cloud, and prints the owner, the state, what would be done and why.\nWrites nothing. Exit code 0 on success, 1 if the object is not found.",
    )
    .option("--json", "as one line of JSON")
    .action(async (what, name, cluster, flags, command: Command) => {
      const { explain } = await import("#cli/explain/explain.ts");
      const given = [what, name, cluster].filter((each) => each !== undefined);
      await explain(given, { ...flags, given: listGivenFlags(command) }, print);
    });
}

import type { Command } from "commander";
import { addAllowedNetworksFlag, addClustersFileFlags, collectValues, print } from "#cli/flags.ts";

/** Adds `clusters`, with a command for each thing to do with entries. */
export function addClusterCommands(program: Command): void {
  const clusters = program
    .command("clusters")
    .summary("add, check, hash, list and remove clusters")
    .description("Reads, checks and changes cluster entries, as the relay and the functions read them.");

  addCheckCommand(addAllowedNetworksFlag(addClustersFileFlags(clusters.command("check"))));
  addAddCommand(addClustersFileFlags(clusters.command("add")));
  addHashCommand(addClustersFileFlags(clusters.command("hash")));
  addListCommand(addClustersFileFlags(clusters.command("list")));
  addRemoveCommand(addClustersFileFlags(clusters.command("remove")));
}

function addCheckCommand(command: Command): void {
  command
    .summary("every fault of the file and of its sign-ins")
    .description(
      "Prints every fault of a clusters file, one line each, with cluster, line and column.\nExit code 0 without faults, 1 if an entry or sign-in is faulty, 2 if the file is not a clusters file.",
    )
    .option(
      "--sign-in <whose>",
      "try the sign-ins of relay, functions (all), one function such as node, or none",
      "relay",
    )
    .option("--connect", "sign in as each identity, and compare its rights with the required ones", false)
    .action(async (flags) => (await import("#cli/clusters/clusters.ts")).checkClusters(flags, print));
}

function addAddCommand(command: Command): void {
  command
    .argument("<name>", "the cluster's")
    .summary("add the entry of a cluster")
    .description(
      "Reads API server and authority, but no credentials, from a kubeconfig, and adds the cluster's entry to the file\nor as an SSM parameter. Exit code 2, without a write, if the entry is faulty or exists already.",
    )
    .option("--kubeconfig <file>", "the source of server and authority")
    .option("--context <name>", "of the kubeconfig (default: its current one)")
    .option("--cloud-provider <name>", "the cloud, such as aws")
    .option("--cloud-config <file>", "YAML with the cloud's own keys, such as region and vpc")
    .option("--controllers <list>", "names, separated by commas (default: those of every entry)")
    .option(
      "--sign-in <who=how>",
      "how relay, functions or one of them signs in, such as functions='{ kind: eks, clusterName: blue }'; once for each",
      collectValues,
    )
    .option("--dry-run", "print the entry, and write nothing", false)
    .action(async (name, flags) =>
      (await import("#cli/clusters/add-cluster.ts")).addCluster(name, flags, print),
    );
}

function addHashCommand(command: Command): void {
  command
    .argument("<name>", "the cluster's")
    .summary("the clusterHash that an event of a cluster carries")
    .description("Prints the clusterHash that an event of a cluster carries.")
    .action(async (name, flags) =>
      (await import("#cli/clusters/clusters.ts")).hashCluster(name, flags, print),
    );
}

function addListCommand(command: Command): void {
  command
    .summary("a line for each cluster")
    .description("Prints a line for each cluster: name, hash, server, cloud and controllers.")
    .action(async (flags) => (await import("#cli/clusters/clusters.ts")).listClusters(flags, print));
}

function addRemoveCommand(command: Command): void {
  command
    .argument("<name>", "the cluster's")
    .summary("remove a cluster that leaves nothing behind")
    .description(
      "Lists what a cluster's Services and tags have left in the cloud, and removes its entry from the file or from SSM.\nExit code 1, without a change, if resources remain or cannot be listed.",
    )
    .option("--force", "remove it in any case", false)
    .action(async (name, flags) =>
      (await import("#cli/clusters/remove-cluster.ts")).removeCluster(name, flags, print),
    );
}

import type { Command } from "commander";
import { MAX_NODES, MIN_NODES } from "#cli/demo/nodes.ts";

/** Adds `demo`, `decide` and `cost`, which need no cluster. */
export function addTryCommands(program: Command): void {
  program
    .command("demo")
    .summary("the whole system on an embedded API server and cloud")
    .description("Shows in four short acts how nodes are initialized, on an embedded API server and cloud.")
    .option("--cloud-provider <name>", "aws (an EC2 endpoint) or digitalocean (its API)", "aws")
    .option("--lambda", "invoke the packaged functions through AWS's Invoke API on a local function platform")
    .option("--keep", "leave everything running at the end, and print the kubeconfig")
    .option("--nodes <count>", `nodes of each burst, ${MIN_NODES} to ${MAX_NODES}`, "200")
    .option("--json", "all values of the first act, as JSON")
    .action(async (flags) => (await import("#cli/demo/demo.ts")).runDemo(flags));

  program
    .command("decide")
    .summary("the core as a filter: event in, decisions out")
    .description(
      'Reads an event, or {"event": …, "instances" or "answers": […], "settings": {…}}, as JSON from standard input, and prints one decision a line.',
    )
    .action(async () => (await import("#cli/decide.ts")).decide(process.stdin, process.stdout));

  program
    .command("cost")
    .summary("compare the cost with stock controllers")
    .description("Computes the bill from measured times and published prices, and that of stock controllers.")
    .requiredOption("--nodes-per-day <count>", "nodes that join, all clusters together")
    .requiredOption("--clusters <count>", "clusters, joined or idle")
    .option("--nodes-per-cluster <count>", "nodes that each cluster has", "20")
    .option("--nodes-per-invocation <count>", "mean size of a batch that joins, 1 to 100", "1")
    .option("--cold-share <share>", "part of the invocations that start cold, 0 to 1", "0.1")
    .option("--architecture <name>", "arm64 or x86_64", "arm64")
    .option("--prices <file>", "JSON file of prices, instead of the built-in ones of us-east-1")
    .option("--json", "the whole bill as JSON")
    .action(async (flags) => (await import("#cli/cost/cost.ts")).printCost(flags, process.stdout));
}

import type { Command } from "commander";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { MAX_NODES, MIN_NODES } from "#cli/demo/nodes.ts";

/** Adds `demo` and `decide`, which need no cluster, and `cost`, which tells what replaces it. */
export function addTryCommands(program: Command): void {
  program
    .command("demo")
    .summary("the whole system on an embedded API server and cloud")
    .description("Shows in four short acts how nodes are initialized, on an embedded API server and cloud.")
    .option("--cloud-provider <name>", "aws (an EC2 endpoint) or digitalocean (its API)", "aws")
    .option("--platform <name>", "lambda, or http: functions over HTTP in a process of their own", "lambda")
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
    .command("cost", { hidden: true })
    .summary("deprecated: npm run bench:cost")
    .description("Deprecated, and absent from the next version: run `npm run bench:cost` in a checkout.")
    .argument("[flags...]")
    .allowUnknownOption()
    .action(() => {
      const message =
        "is a script of the bench now: in a checkout run npm run bench:cost -- with the same flags, or read docs/explanation/cost.md";
      throw new ConfigurationError([{ name: "cost", message }]);
    });
}

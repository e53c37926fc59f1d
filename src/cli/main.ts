#!/usr/bin/env node
import { isMainThread, workerData } from "node:worker_threads";
import { Command, CommanderError } from "commander";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { MAX_NODES, MIN_NODES } from "#cli/demo/nodes.ts";
import { outliveHangups } from "#cli/ending-signal.ts";
import {
  addAllowedNetworksFlag,
  addClustersFileFlags,
  addFleetBrakeFlag,
  addFunctionFlags,
  addReachFlags,
  addServingFlags,
  addStopSwitchFlag,
  collectValues,
} from "#cli/flags.ts";
import { RUN_WORKER } from "#cli/relay/relay-worker-data.ts";
import { keepHeapSmall } from "#cli/relay/small-heap.ts";
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

addServingFlags(program.command("run"))
  .summary("relay and functions in one process")
  .description("Watches clusters and does their work, relay and functions in this one process.")
  .action(async (flags, command: Command) => {
    outliveHangups();
    keepHeapSmall();
    const { run } = await import("#cli/run/run.ts");
    await run({ ...flags, given: listGivenFlags(command) }, import.meta.url);
  });

addServingFlags(program.command("relay"), addFunctionFlags)
  .summary("watches clusters and invokes the deployed functions")
  .description("Watches clusters and invokes the functions that are deployed to AWS Lambda.")
  .action(async (flags, command: Command) => {
    outliveHangups();
    keepHeapSmall();
    const { runRelay: relay } = await import("#cli/relay/relay.ts");
    await relay({ ...flags, given: listGivenFlags(command) }, import.meta.url);
  });

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
    if (flags.fleet === true) return (await import("#cli/deletion/fleet-brake.ts")).runFleetBrake(cluster, own, print);
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

addStopSwitchFlag(addReachFlags(program.command("doctor")))
  .argument("[cluster]", "its name; without it all clusters of a clusters file")
  .summary("find problems of a cluster, and their remedies")
  .description(
    "Checks what a cluster needs: API server, identities and their rights, kubelets, cloud, deletion, relay.\nExit code 0 on success, 1 if a check failed.",
  )
  .option("--function-prefix <prefix>", "the deployed functions are named <prefix>node, …")
  .option("--function-arn <arn>", "the deployed function, by name or ARN")
  .option("--region <region>", "where the functions are (default: $AWS_REGION, or the AWS profile's)")
  .option("--fallback <where>", "in-process: check what a relay could do while AWS Lambda fails")
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

const clusters = program
  .command("clusters")
  .summary("add, check, hash, list and remove clusters")
  .description("Reads, checks and changes cluster entries, as the relay and the functions read them.");

addAllowedNetworksFlag(addClustersFileFlags(clusters.command("check")))
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

addClustersFileFlags(clusters.command("add"))
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
    (each: string, before: readonly string[] = []) => [...before, each],
  )
  .option("--dry-run", "print the entry, and write nothing", false)
  .action(async (name, flags) => (await import("#cli/clusters/add-cluster.ts")).addCluster(name, flags, print));

addClustersFileFlags(clusters.command("hash"))
  .argument("<name>", "the cluster's")
  .summary("the clusterHash that an event of a cluster carries")
  .description("Prints the clusterHash that an event of a cluster carries.")
  .action(async (name, flags) => (await import("#cli/clusters/clusters.ts")).hashCluster(name, flags, print));

addClustersFileFlags(clusters.command("list"))
  .summary("a line for each cluster")
  .description("Prints a line for each cluster: name, hash, server, cloud and controllers.")
  .action(async (flags) => (await import("#cli/clusters/clusters.ts")).listClusters(flags, print));

addClustersFileFlags(clusters.command("remove"))
  .argument("<name>", "the cluster's")
  .summary("remove a cluster that leaves nothing behind")
  .description(
    "Lists what a cluster's Services and tags have left in the cloud, and removes its entry from the file or from SSM.\nExit code 1, without a change, if resources remain or cannot be listed.",
  )
  .option("--force", "remove it in any case", false)
  .action(async (name, flags) => (await import("#cli/clusters/remove-cluster.ts")).removeCluster(name, flags, print));

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

const infra = program
  .command("infra")
  .summary("print configuration for API servers")
  .description("Prints the configuration that API servers and accounts need for these clusters.");

infra
  .command("authentication-config")
  .summary("the file with which an API server accepts tokens of IAM roles")
  .description(
    "Prints an AuthenticationConfiguration for kube-apiserver: IAM roles sign in as our users, by tokens of sts:GetWebIdentityToken.\nAlso translates --oidc-* flags, which kube-apiserver rejects together with the file.",
  )
  .option(
    "--issuer <[account=]url>",
    "the AWS account's issuer of tokens; once for each account",
    collectValues,
  )
  .option("--role <name=arn>", "the IAM role of an identity: relay, node, …; once for each", collectValues)
  .option("--roles-from <file>", "the functions' roles, as printed by CloudFormation or Terraform")
  .option("--cluster-name <name>", "the cluster's name; tokens are then for serverless-ccm:<name>")
  .option(
    "--audience <text>",
    "another audience of tokens, or the only one without --cluster-name",
    collectValues,
  )
  .option("--max-token-lifetime <duration>", "reject tokens that are valid for longer (default: 1h)")
  .option(
    "--discovery-url <[account=]url>",
    "the server to ask if the API server cannot reach the issuer",
    collectValues,
  )
  .option(
    "--certificate-authority <[account=]file>",
    "the authority of that server, if it is not a public one",
    collectValues,
  )
  .option("--egress-selector <type>", "the network to use: controlplane, cluster")
  .option("--merge <file>", "an existing file to merge with")
  .option("--server-version <version>", "of the API server, such as 1.36")
  .option("--kubeconfig <file>", "asks the API server for its version (default: $KUBECONFIG)")
  .option("--oidc-issuer-url <url>", "of kube-apiserver, as all of these: they become an entry of the file")
  .option("--oidc-client-id <id>", "the issuer's only audience")
  .option("--oidc-username-claim <claim>", "the claim with the user's name (default: sub)")
  .option("--oidc-username-prefix <prefix>", "before the name; - for none (default: URL#, except for email)")
  .option("--oidc-groups-claim <claim>", "the claim with the groups")
  .option("--oidc-groups-prefix <prefix>", "before each of them")
  .option(
    "--oidc-required-claim <claim=value>",
    "the required value of a claim; once for each",
    collectValues,
  )
  .option("--oidc-signing-algs <list>", "has no equivalent in a file; a comment says so", collectValues)
  .option("--oidc-ca-file <file>", "by which the issuer's server is trusted")
  .action(async (flags) => {
    const { printAuthenticationConfig } = await import("#cli/infra/authentication-config.ts");
    const note = (line: string): void => void process.stderr.write(`serverless-ccm: ${line}\n`);
    await printAuthenticationConfig(flags, process.env, (text) => process.stdout.write(text), note);
  });

infra
  .command("admission-url")
  .summary("the URL at which an API server calls the function admission")
  .description(
    "Prints for each cluster the URL of its ValidatingWebhookConfiguration, signed for this cluster only.\nThe function answers no other URL.",
  )
  .option("--signing-key <file>", "the operator's private key, in PEM; kept where no function reads it")
  .option("--public-key", "print the public key for the function's deployment", false)
  .option("--function-url <url>", "of the deployed function")
  .option("--cluster-name <name>", "as in the clusters' entries; once for each", collectValues)
  .action(async (flags) => {
    const { printAdmissionUrls } = await import("#cli/infra/admission-url.ts");
    await printAdmissionUrls(flags, (text) => process.stdout.write(text));
  });

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

// Worker threads of relay and run start with this same program.
if (isMainThread) await main();
else if (workerData?.kind === RUN_WORKER) await (await import("#cli/run/run-worker.ts")).runRunWorker(workerData);
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

/** Returns the flags on the command line, without defaults. */
function listGivenFlags(command: Command): ReadonlySet<string> {
  const given = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  return new Set(given.map(({ long }) => long ?? ""));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

#!/usr/bin/env node
import { isMainThread, workerData } from "node:worker_threads";
import { Command, CommanderError } from "commander";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { MAX_NODES, MIN_NODES } from "#cli/demo/node-range.ts";
import {
  eachOf,
  withAllowedNetworks,
  withClustersFile,
  withFleetBrake,
  withFunctions,
  withReach,
  withServingFlags,
  withStopSwitch,
} from "#cli/flags.ts";
import { outliveHangups } from "#cli/hangup.ts";
import { RUN_WORKER } from "#cli/relay-worker-data.ts";
import { keepHeapSmall } from "#cli/small-heap.ts";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";
import packageJson from "../package.json" with { type: "json" };

/** Exit codes: done, failed, wrong usage or configuration. */
const FAILED = 1;
const WRONG_USAGE = 2;

/** Of an error's message. */
const MAX_LINES = 1_000;
const MAX_LINE_CHARACTERS = 1_024;

const program = new Command("serverless-ccm")
  .description(`${packageJson.description}`)
  .version(packageJson.version)
  .showHelpAfterError("(see --help)")
  .configureHelp({ showGlobalOptions: false, subcommandTerm: (command) => command.name() })
  .exitOverride();

withServingFlags(program.command("run"))
  .summary("relay and functions in one process")
  .description("Watches clusters and does their work, relay and functions in this one process.")
  .action(async (flags, command: Command) => {
    outliveHangups();
    keepHeapSmall();
    const { run } = await import("#cli/run.ts");
    await run({ ...flags, given: givenTo(command) }, import.meta.url);
  });

withServingFlags(program.command("relay"), withFunctions)
  .summary("watches clusters and invokes the deployed functions")
  .description("Watches clusters and invokes the functions that are deployed to AWS Lambda.")
  .action(async (flags, command: Command) => {
    outliveHangups();
    keepHeapSmall();
    const { relay } = await import("#cli/relay.ts");
    await relay({ ...flags, given: givenTo(command) }, import.meta.url);
  });

program
  .command("demo")
  .summary("the whole system on an embedded API server and cloud")
  .description("Shows in four short acts how nodes come up, on an embedded API server and cloud.")
  .option("--cloud-provider <name>", "aws (an EC2 endpoint) or digitalocean (its API)", "aws")
  .option("--lambda", "invoke the packaged functions through AWS's Invoke API on a local function platform")
  .option("--keep", "leave everything running at the end, and print the kubeconfig")
  .option("--nodes <count>", `nodes of each burst, ${MIN_NODES} to ${MAX_NODES}`, "200")
  .option("--json", "the values of the first act whole, as JSON")
  .action(async (flags) => (await import("#cli/demo/demo.ts")).demo(flags));

withFleetBrake(withReach(program.command("brake")))
  .argument("[what]", "show or reset, or the cluster's name (default: show)")
  .argument("[cluster]", "its name; needed with a clusters file that has several, without --all")
  .summary("what holds back deletion: show, reset")
  .description(
    "Shows what deletion remembers of a cluster: whether the brake is pulled, since when and why.\nEnds with 0, also where there was no brake to reset, and with 1 where the state cannot be used.",
  )
  .option("--reset", "let the brake go; deletions count from anew")
  .option("--all", "of all clusters, a line each")
  .option("--fleet", "the brake that all clusters share, in place of a cluster's")
  .option("--json", "as one line of JSON")
  .action(async (what, name, flags, command: Command) => {
    const { brake, readBrakeWords } = await import("#cli/brake.ts");
    const { cluster, reset } = readBrakeWords([what, name], flags.reset === true);
    const own = { ...flags, reset };
    if (flags.fleet === true) return (await import("#cli/fleet-brake.ts")).fleetBrake(cluster, own, print);
    await brake(cluster, { ...own, given: givenTo(command) }, print);
  });

withStopSwitch(withClustersFile(program.command("stop")))
  .summary("holds back writes or deletes, of one cluster or all")
  .description(
    "Stops what the relay, the functions and the sweep write or delete, within 10 seconds and without a deployment, and says what is stopped; without --writes and --deletes it only says.",
  )
  .option("--writes", "everything that is written, in clusters and in their clouds")
  .option("--deletes", "what is deleted, in clusters and in their clouds")
  .option("--cluster <name>", "of this cluster")
  .option("--all", "of all clusters")
  .option("--resume", "lets it go on")
  .option("--force", "writes the record anew where nobody can mean what stands there")
  .option("--json", "as one line of JSON")
  .action(async (flags) => (await import("#cli/stop.ts")).stop(flags, print));

withStopSwitch(withReach(program.command("doctor")))
  .argument("[cluster]", "its name; without it all clusters of a clusters file")
  .summary("what is not as it should be, and why")
  .description(
    "Looks at what a cluster needs: API server, identities and their rights, kubelets, cloud, deletion, relay.\nEnds with 0, and with 1 where a check failed.",
  )
  .option("--function-prefix <prefix>", "the deployed functions are named <prefix>node, …")
  .option("--function-arn <arn>", "the deployed function, by name or ARN")
  .option("--region <region>", "where the functions are (default: $AWS_REGION, or the AWS profile's)")
  .option("--fallback <where>", "in-process: what a relay could do by itself while AWS Lambda fails")
  .option("--json", "a line of JSON for each check")
  .action(async (name, flags, command: Command) => {
    const { doctor } = await import("#cli/doctor/doctor.ts");
    await doctor(name, { ...flags, given: givenTo(command) }, print);
  });

withStopSwitch(withReach(program.command("explain")))
  .argument("<what>", "a node's name; or node or service")
  .argument("[name]", "after node its name, after service NAMESPACE/NAME; else the cluster's name")
  .argument("[cluster]", "its cluster's (default: the one of the clusters file that has it)")
  .summary("what a node or a Service waits for, and what to do")
  .description(
    "Reads a node or a Service and asks the cloud, and says whose it is, what there is, what would be done and why. Writes nothing.\nEnds with 0, and with 1 where there is no such object.",
  )
  .option("--json", "as one line of JSON")
  .action(async (what, name, cluster, flags, command: Command) => {
    const { explain } = await import("#cli/explain/explain.ts");
    const given = [what, name, cluster].filter((each) => each !== undefined);
    await explain(given, { ...flags, given: givenTo(command) }, print);
  });

const clusters = program
  .command("clusters")
  .summary("add, check, hash, list and remove clusters")
  .description(
    "Reads clusters as relay and functions do, says what they would make of them, and changes them.",
  );

withAllowedNetworks(withClustersFile(clusters.command("check")))
  .summary("every fault of the file and of its sign-ins")
  .description(
    "Prints every fault of a clusters file, a line each, by cluster, line and column.\nEnds with 0 where there is none, 1 where an entry or sign-in is faulty, 2 where it is no clusters file.",
  )
  .option(
    "--sign-in <whose>",
    "tries the sign-ins of relay, functions (all), one function such as node, or none",
    "relay",
  )
  .option("--connect", "signs in as everybody, and compares rights with those that are needed", false)
  .action(async (flags) => (await import("#cli/clusters.ts")).checkClusters(flags, print));

withClustersFile(clusters.command("add"))
  .argument("<name>", "the cluster's")
  .summary("writes the entry of a cluster down")
  .description(
    "Takes API server and authority of a kubeconfig, and no credentials, and writes the cluster's entry into the file or as a parameter of SSM.\nEnds with 2, and writes nothing, where the entry would be faulty or is there already.",
  )
  .option("--kubeconfig <file>", "of which server and authority are taken")
  .option("--context <name>", "of the kubeconfig (default: its current one)")
  .option("--cloud-provider <name>", "the cloud, such as aws")
  .option("--cloud-config <file>", "YAML with the cloud's own keys, such as region and vpc")
  .option("--controllers <list>", "names, with a comma between (default: those of every entry)")
  .option(
    "--sign-in <who=how>",
    "how relay, functions or one of them signs in, such as functions='{ kind: eks, clusterName: blue }'; once for each",
    (each: string, before: readonly string[] = []) => [...before, each],
  )
  .option("--dry-run", "prints the entry, and writes nothing", false)
  .action(async (name, flags) => (await import("#cli/add-cluster.ts")).addCluster(name, flags, print));

withClustersFile(clusters.command("hash"))
  .argument("<name>", "the cluster's")
  .summary("the clusterHash that an event of a cluster carries")
  .description("Prints the clusterHash that an event of a cluster carries.")
  .action(async (name, flags) => (await import("#cli/clusters.ts")).hashCluster(name, flags, print));

withClustersFile(clusters.command("list"))
  .summary("a line for each cluster")
  .description("Prints a line for each cluster: name, hash, server, cloud and controllers.")
  .action(async (flags) => (await import("#cli/clusters.ts")).listClusters(flags, print));

withClustersFile(clusters.command("remove"))
  .argument("<name>", "the cluster's")
  .summary("takes a cluster out, where it leaves nothing behind")
  .description(
    "Lists what a cluster's Services and tags have left in the cloud, and takes its entry out of the file, or deletes its parameter of SSM.\nEnds with 1, and leaves the entry alone, where there is something or nobody can tell.",
  )
  .option("--force", "takes it out all the same", false)
  .action(async (name, flags) => (await import("#cli/remove-cluster.ts")).removeCluster(name, flags, print));

withReach(program.command("shadow"))
  .argument("[cluster]", "its name; needed with a clusters file that has several")
  .summary("where another controller does otherwise")
  .description(
    "Watches a cluster in which another cloud-controller-manager works, writes nothing there, and prints each difference.\nEnds with 0 where there is none, 1 where there is one, 2 where there is nobody or nothing to compare with.",
  )
  .option("--for <duration>", "how long it watches, such as 10m (default: until SIGINT)")
  .option("--once", "compares the nodes that are initialized now, and watches nothing", false)
  .option("--all", "all clusters, eight at a time, with --once or --for; a summary at the end", false)
  .option("--ignore <code...>", "differences that are known: CODE, or CODE:LABEL")
  .action(async (name, flags, command: Command) => {
    const { shadow } = await import("#cli/shadow/shadow.ts");
    await shadow(name, { ...flags, given: givenTo(command) }, print);
  });

for (const direction of ["over", "back"] as const) {
  withReach(program.command(`hand${direction}`))
    .argument("[cluster]", "its name; needed with a clusters file that has several")
    .summary(
      direction === "over"
        ? "takes nodes over from another controller"
        : "gives them back to the other controller",
    )
    .description(
      "Says what is going to happen, changes our side, says the flag for the other side, and watches that no node is left alone.\nEnds with 0 where none was, 1 where one was or somebody is still at work who should not be, 2 where it cannot begin.",
    )
    .option("--dry-run", "says what would happen, and changes nothing", false)
    .option("--for <duration>", "how long it watches", "60s")
    .option("--all", "all clusters, eight at a time; a summary at the end", false)
    .option(
      "--anyway",
      "also where the other controller is not seen to be there (handback), or may run Services, routes or tags",
      false,
    )
    .action(async (name, flags, command: Command) => {
      const { handover } = await import("#cli/handover/handover.ts");
      await handover(direction, name, { ...flags, given: givenTo(command) }, print);
    });
}

const infra = program
  .command("infra")
  .summary("prints what API servers have to be told")
  .description("Prints what API servers and accounts have to be told, made for these clusters.");

infra
  .command("authentication-config")
  .summary("the file by which an API server takes tokens of IAM roles")
  .description(
    "Prints an AuthenticationConfiguration for kube-apiserver: IAM roles sign in as our users, by tokens of sts:GetWebIdentityToken.\nAlso takes over what --oidc-* flags say, which kube-apiserver refuses beside the file.",
  )
  .option("--issuer <[account=]url>", "the AWS account's issuer of tokens; once for each account", eachOf)
  .option("--role <name=arn>", "the IAM role of an identity: relay, node, …; once for each", eachOf)
  .option("--roles-from <file>", "the functions' roles, as printed by CloudFormation or Terraform")
  .option("--cluster-name <name>", "the cluster's name; tokens are then for serverless-ccm:<name>")
  .option("--audience <text>", "whom tokens may be for, too, or without --cluster-name", eachOf)
  .option("--max-token-lifetime <duration>", "tokens that are valid for longer are refused (default: 1h)")
  .option(
    "--discovery-url <[account=]url>",
    "where the API server asks, where it cannot reach the issuer",
    eachOf,
  )
  .option(
    "--certificate-authority <[account=]file>",
    "by which it trusts that server, where no public one will do",
    eachOf,
  )
  .option("--egress-selector <type>", "through which it asks: controlplane, cluster")
  .option("--merge <file>", "a file that there is, with which all this is printed in one")
  .option("--server-version <version>", "of the API server, such as 1.36")
  .option("--kubeconfig <file>", "asks the API server for its version (default: $KUBECONFIG)")
  .option("--oidc-issuer-url <url>", "of kube-apiserver, as all of these: they become an entry of the file")
  .option("--oidc-client-id <id>", "the issuer's only audience")
  .option("--oidc-username-claim <claim>", "the claim with the user's name (default: sub)")
  .option("--oidc-username-prefix <prefix>", "before the name; - for none (default: URL#, but for email)")
  .option("--oidc-groups-claim <claim>", "the claim with the groups")
  .option("--oidc-groups-prefix <prefix>", "before each of them")
  .option("--oidc-required-claim <claim=value>", "what a claim has to be; once for each", eachOf)
  .option("--oidc-signing-algs <list>", "has no equivalent in a file; a comment says so", eachOf)
  .option("--oidc-ca-file <file>", "by which the issuer's server is trusted")
  .action(async (flags) => {
    const { printAuthenticationConfig } = await import("#cli/infra/authentication-config.ts");
    const note = (line: string): void => void process.stderr.write(`serverless-ccm: ${line}\n`);
    await printAuthenticationConfig(flags, process.env, (text) => process.stdout.write(text), note);
  });

infra
  .command("admission-url")
  .summary("the URL by which an API server asks the function admission")
  .description(
    "Prints for each cluster the URL of its ValidatingWebhookConfiguration, signed for this cluster alone.\nThe function answers no other.",
  )
  .option("--signing-key <file>", "the operator's private key, in PEM; kept where no function reads it")
  .option("--public-key", "prints the public key, with which the function is deployed", false)
  .option("--function-url <url>", "of the deployed function")
  .option("--cluster-name <name>", "as in the clusters' entries; once for each", eachOf)
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
  .summary("what it costs, beside stock controllers")
  .description(
    "Computes the bill from measured times and published prices, beside that of stock controllers.",
  )
  .requiredOption("--nodes-per-day <count>", "nodes that join, all clusters together")
  .requiredOption("--clusters <count>", "clusters, joined or idle")
  .option("--nodes-per-cluster <count>", "nodes that each cluster has", "20")
  .option("--nodes-per-invocation <count>", "mean size of a batch that joins, 1 to 100", "1")
  .option("--cold-share <share>", "part of the invocations that start anew, 0 to 1", "0.1")
  .option("--architecture <name>", "arm64 or x86_64", "arm64")
  .option("--prices <file>", "JSON file of prices, in place of the built-in ones of us-east-1")
  .option("--json", "the whole bill as JSON")
  .action(async (flags) => (await import("#cli/cost.ts")).cost(flags, process.stdout));

// The worker threads of relay and run are started with this program, as it is one file or many.
if (isMainThread) await main();
else if (workerData?.kind === RUN_WORKER) await (await import("#cli/run-worker.ts")).runRunWorker(workerData);
else await (await import("#cli/relay-worker.ts")).runRelayWorker(workerData);

async function main(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  // Commander has said what is wrong by then; its own code for --help and --version is 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
  process.stderr.write(`serverless-ccm: ${linesOf(messageOf(error))}\n`);
  return error instanceof ConfigurationError ? WRONG_USAGE : FAILED;
}

/** Lines are ours; what stands in them may be somebody else's. */
function linesOf(message: string): string {
  return message
    .split("\n", MAX_LINES)
    .map((line) => shown(line, MAX_LINE_CHARACTERS))
    .join("\n");
}

/** The flags that stand on the command line, defaults aside. */
function givenTo(command: Command): ReadonlySet<string> {
  const given = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  return new Set(given.map(({ long }) => long ?? ""));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

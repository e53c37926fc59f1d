import type { Command } from "commander";
import { addControllerFlags } from "#cli/settings/controller-flags.ts";
import { addStockFlags } from "#cli/settings/stock-flags.ts";
import { DEFAULT_CLUSTER_NAME } from "#core/contracts.ts";
import { DEFAULT_PLATFORM } from "#platforms/platforms.ts";

const ALLOWED_NETWORKS = "networks of internal API servers (default: $ALLOWED_NETWORKS)";

const FLEET_BRAKE = "record of the brake that all clusters share (default: $FLEET_BRAKE)";

const STOP_SWITCH = "record of what is stopped (default: $STOP_SWITCH, or next to the clusters)";

/** Adds the flags of `run` and `relay`, each below a heading; `own` adds those of one of the two. */
export function addServingFlags(command: Command, own?: (command: Command) => Command): Command {
  addOneClusterFlags(command.optionsGroup("One cluster:"));
  if (command.name() === "run") addFunctionKubeconfigFlag(command);
  addControllerFlags(command.optionsGroup("Controllers:"));
  addManyClustersFlags(command);
  own?.(command);
  addSafeguardFlags(command);
  addStockFlags(command);
  return command
    .optionsGroup("Process:")
    .option("--node-status-update-frequency <duration>", "how often addresses of nodes are compared", "5m0s")
    .option("--bind-address <ip>", "address of /, /healthz, /readyz, /metrics", "127.0.0.1")
    .option("--port <port>", "port of the same; 0 picks a free one", "10258")
    .option(
      "--allowed-hosts <list>",
      "DNS names under which the same answer, besides localhost and Services'",
    )
    .option("--metrics-detail <level>", "cluster: series of each; fleet: few of each", "cluster")
    .helpOption("-h, --help", "display help for command");
}

/** Adds the flags by which `relay` finds and replaces the deployed functions. */
export function addFunctionFlags(command: Command): Command {
  return addDeploymentFlags(command.optionsGroup("Functions:")).option(
    "--fallback <where>",
    "in-process: handles events in the relay while the function platform fails",
  );
}

/** Adds the flags that say where the deployed functions are. */
export function addDeploymentFlags(command: Command): Command {
  command
    .option("--platform <name>", "where the functions are deployed: lambda or http", DEFAULT_PLATFORM)
    .option("--function-prefix <prefix>", "lambda: functions are named <prefix>node, …")
    .option("--function-arn <arn>", "lambda: the node function, by name or ARN")
    .option("--region <region>", "lambda: their region (default: $AWS_REGION, or the AWS profile's)");
  return addFunctionUrlFlags(command, "http: ");
}

/** Adds the flags of `functions`. */
export function addFunctionServerFlags(command: Command): Command {
  command
    .optionsGroup("Functions:")
    .option("--functions <list>", "names of functions, such as node,service (default: all)")
    .option("--concurrency <count>", "invocations at a time; others are answered 429", "100")
    .optionsGroup("Process:")
    .option("--bind-address <ip>", "address of the functions, /healthz and /readyz", "127.0.0.1")
    .option("--port <port>", "port of the same; 0 picks a free one (default: $PORT, or 8080)")
    .option("--tls-cert-file <file>", "certificate with its chain, as PEM")
    .option("--tls-private-key-file <file>", "its private key, as PEM")
    .option(
      "--behind-tls-proxy",
      "plain HTTP on any address: only a proxy that terminates TLS reaches it; needs a token",
    )
    .helpOption("-h, --help", "display help for command")
    .optionsGroup("Callers (one of these is enough; without any, only this machine is served):")
    .option("--token-file <file>", "bearer token; two lines while one replaces the other")
    .option("--oidc-issuer-url <url>", "issuer of ID tokens, over https")
    .option("--oidc-audience <name>", "audience of these ID tokens")
    .option("--oidc-subjects <list>", "their subjects that may invoke functions")
    .option("--oidc-ca-file <file>", "authority of the issuer's certificate, as PEM (default: the system's)")
    .option("--client-ca-file <file>", "authority of client certificates, as PEM")
    .option("--client-subjects <list>", "their common names, DNS:NAME or URI:URI that may invoke functions")
    .optionsGroup("Functions that the sweep invokes (default: those of this process):");
  return addFunctionUrlFlags(command);
}

/** Adds the flags by which a process invokes functions over HTTP. */
export function addFunctionUrlFlags(command: Command, prefix = ""): Command {
  return command
    .option("--function-url <template>", `${prefix}their URL, with {function} for the name`)
    .option("--function-token-file <file>", `${prefix}bearer token to send (default: $FUNCTION_TOKEN)`)
    .option("--function-ca-file <file>", `${prefix}authority of their certificates, as PEM`)
    .option("--function-cert-file <file>", `${prefix}client certificate, as PEM`)
    .option("--function-key-file <file>", `${prefix}its private key, as PEM`);
}

/** Adds the flags that name the cluster registry, for commands that read or change it. */
export function addClustersFileFlags(command: Command): Command {
  return command
    .option(
      "--clusters-file <file>",
      "a YAML file, ssm:/PATH/ or kubernetes:[FILE] (default: $CLUSTERS_FILE)",
    )
    .option("--cluster-defaults <file>", "YAML of what clusters of a management cluster have in common")
    .option("--cluster-annotations <list>", "annotations of a management cluster's objects that count")
    .option("--entries-in-secrets", "read whole entries in Secrets of a management cluster")
    .option(
      "--allowed-secrets <list>",
      "prefixes of secrets that entries may name (default: $ALLOWED_SECRETS)",
    );
}

/**
 * Adds the flags by which a command reaches clusters: a registry, or those with which `run` describes one
 * cluster. Help shows one of the latter.
 */
export function addReachFlags(command: Command): Command {
  const shown = ["--kubeconfig", "--clusters-file"];
  addAllowedNetworksFlag(command);
  addControllerFlags(addFunctionKubeconfigFlag(addOneClusterFlags(addClustersFileFlags(command))));
  for (const option of command.options) if (!shown.includes(option.long ?? "")) option.hideHelp();
  return command.addHelpText(
    "after",
    "\nA cluster by flags is described by those that `serverless-ccm run` has for it.",
  );
}

/** Adds the networks in which API servers may have internal addresses. */
export function addAllowedNetworksFlag(command: Command): Command {
  return command.option("--allowed-networks <list>", ALLOWED_NETWORKS);
}

/** Adds the record of the fleet brake, which all clusters share. */
export function addFleetBrakeFlag(command: Command): Command {
  return command.option("--fleet-brake <record>", FLEET_BRAKE);
}

/** Adds the location of the stop switch. */
export function addStopSwitchFlag(command: Command): Command {
  return command.option("--stop-switch <home>", STOP_SWITCH);
}

/** Adds a function's own identity, for a cluster described by flags. */
export function addFunctionKubeconfigFlag(command: Command): Command {
  return command.option(
    "--function-kubeconfig <name=file>",
    "a function's own identity, such as csr=FILE; once for each",
    collectValues,
  );
}

/** Collects the values of a flag that may be given more than once. */
export function collectValues(each: string, before: readonly string[] = []): readonly string[] {
  return [...before, each];
}

/** Adds the flags that describe the one cluster and how to reach it. */
function addOneClusterFlags(command: Command): Command {
  return command
    .option("--cloud-provider <name>", "cloud of the cluster, such as aws; a wrong name is answered with all")
    .option("--cloud-config <file>", "YAML with the cloud's own keys, such as region and vpc")
    .option("--cluster-name <name>", "name of the cluster", DEFAULT_CLUSTER_NAME)
    .option("--kubeconfig <file>", "reaches the API server (default: $KUBECONFIG)")
    .option("--relay-kubeconfig <file>", "the relay's own identity (default: that of --kubeconfig)");
}

function addManyClustersFlags(command: Command): Command {
  return addAllowedNetworksFlag(addClustersFileFlags(command.optionsGroup("Many clusters:")))
    .option("--workers <count>", "threads for the clusters of a file; 0: none (default: by their number)")
    .option(
      "--shard-by <reference>",
      "Leases by which replicas share the clusters: kubernetes:?namespace=NAME",
    )
    .option("--shard-replicas <list>", "names of all replicas, in place of Leases, with a comma between")
    .option("--shard-name <name>", "name of this replica (default: $POD_NAME)");
}

function addSafeguardFlags(command: Command): Command {
  addFleetBrakeFlag(addStopSwitchFlag(command.optionsGroup("Limits and safeguards:")));
  return command
    .option("--quota-percent <percent>", "percent of each cloud account's API quotas to spend", "100")
    .option("--dry-run", "decide and report, write nothing", false);
}

/** Returns the flags on the command line, without defaults. */
export function listGivenFlags(command: Command): ReadonlySet<string> {
  const given = command.options.filter(
    (option) => command.getOptionValueSource(option.attributeName()) === "cli",
  );
  return new Set(given.map(({ long }) => long ?? ""));
}

/** Prints a line on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

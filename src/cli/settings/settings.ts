import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import { type KubeconfigAccess, readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import { KubeconfigError } from "#cli/clusters/kubeconfig-trust.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { parseCloudConfig, type WrittenCloudConfig } from "#cli/settings/cloud-config.ts";
import { readControllerFlags, SET_BY_FLAGS, selectControllers } from "#cli/settings/controller-flags.ts";
import type { Environment } from "#clouds/provider.ts";
import { Cluster, ClusterEntry } from "#config/cluster.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { ControllerName } from "#core/event.ts";
import { type DurationRange, readDuration, type TypedFlags } from "#core/flags.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { parseAllowedHosts } from "#relay/served-hosts.ts";

/** The flags that describe one cluster, as typed, with those of its controllers. */
export interface DescribingFlags extends TypedFlags {
  readonly cloudProvider?: string | undefined;
  readonly cloudConfig?: string | undefined;
  readonly clusterName: string;
  readonly kubeconfig?: string | undefined;
  readonly relayKubeconfig?: string | undefined;
  readonly controllers: string;
}

export interface ClusterFlags extends DescribingFlags {
  readonly dryRun: boolean;
}

/** The flags of `run` and `relay`, as typed. */
export interface Flags extends ClusterFlags {
  readonly nodeStatusUpdateFrequency: string;
  readonly bindAddress: string;
  /** The earlier name of `--bind-address`, used if that is missing. */
  readonly address?: string | undefined;
  readonly port: string;
  readonly allowedHosts?: string | undefined;
  readonly quotaPercent: string;
  readonly metricsDetail?: string | undefined;
  /** The flags on the command line, without defaults. */
  readonly given: ReadonlySet<string>;
}

/** How a process serves and limits itself, whatever its clusters. */
export interface ServingSettings {
  readonly nodeStatusUpdateFrequencySeconds: number;
  readonly bindAddress: string;
  readonly port: number;
  /** DNS names that the endpoints accept in addition to the built-in ones. */
  readonly allowedHosts: readonly string[];
  /** The part of each cloud account's quotas that this process divides among its invocations, 0 to 1. */
  readonly quotaPart: number;
  /** The prefix of the deployed functions' names; undefined if none are invoked, or one by its ARN. */
  readonly functionPrefix?: string | undefined;
  readonly metricsDetail: MetricsDetail;
}

/** Whether metrics are per cluster, or summed over clusters except those that alerts read. */
export type MetricsDetail = "cluster" | "fleet";

/** One cluster and the two identities from flags. */
export interface ClusterSettings {
  readonly cluster: Cluster;
  readonly relayAccess: KubeconfigAccess;
  readonly functionsAccess: KubeconfigAccess;
}

/** Reads the serving settings; every fault goes to `faults`. */
export function readServingSettings(flags: Flags, faults: ConfigurationFault[]): ServingSettings {
  return {
    nodeStatusUpdateFrequencySeconds:
      readDuration(
        "--node-status-update-frequency",
        flags.nodeStatusUpdateFrequency,
        STATUS_UPDATE,
        faults,
      ) ?? Number.NaN,
    bindAddress: flags.given.has("--bind-address") ? flags.bindAddress : (flags.address ?? flags.bindAddress),
    port: readPort(flags.port, faults),
    allowedHosts: readAllowedHosts(flags.allowedHosts, faults),
    quotaPart: readQuotaPercent(flags.quotaPercent, faults) / 100,
    metricsDetail: readMetricsDetail(flags.metricsDetail, faults),
  };
}

function readMetricsDetail(text: string | undefined, faults: ConfigurationFault[]): MetricsDetail {
  if (text === undefined || text === "cluster" || text === "fleet") return text ?? "cluster";
  faults.push({
    name: "--metrics-detail",
    message: `"${sanitizeText(text)}" is neither; give cluster or fleet`,
  });
  return "cluster";
}

const STATUS_UPDATE: DurationRange = {
  from: 1,
  to: Number.POSITIVE_INFINITY,
  words: "at least 1s",
  examples: "5m0s, 90s or 1h",
};

/** What a command needs from the flags. */
export interface ClusterNeeds {
  /** Whether the command calls no cloud, so that the cloud's flags may be missing. */
  readonly noCloud?: boolean;
}

/** Reads one cluster from flags and the files they name; throws `ConfigurationError` with every fault found, `faults` included. */
export async function readClusterSettings(
  flags: ClusterFlags,
  environment: Readonly<Record<string, string | undefined>>,
  faults: ConfigurationFault[],
  { noCloud = false }: ClusterNeeds = {},
): Promise<ClusterSettings> {
  const saysNoCloud = noCloud && flags.cloudProvider === undefined && flags.cloudConfig === undefined;
  const cloud = saysNoCloud ? undefined : await readCloud(flags, environment, faults);
  const selection = selectControllers(flags.controllers);
  if (selection.kind === "faults") faults.push(...selection.faults);
  const controllers = selection.kind === "controllers" ? selection.controllers : [];
  const ofControllers = readControllerFlags(flags, { controllers, faults });
  const functionsAccess = await readAccess(
    "--kubeconfig",
    flags.kubeconfig ?? environment["KUBECONFIG"],
    faults,
  );
  const relayAccess =
    flags.relayKubeconfig === undefined
      ? functionsAccess
      : await readAccess("--relay-kubeconfig", flags.relayKubeconfig, faults);
  const cluster = Cluster.safeParse({
    name: flags.clusterName,
    server: functionsAccess?.server ?? "https://unknown.invalid",
    cloud: cloud ?? { provider: "memory", instancesFile: "unknown" },
    // Only what flags set, like an entry without other keys: the hash covers what is written.
    ...(controllers.length > 0 && !hasDefaultControllers(controllers) ? { controllers } : {}),
    ...(flags.dryRun ? { policies: { dryRun: true } } : {}),
    ...ofControllers,
  });
  for (const issue of cluster.error?.issues ?? []) {
    const name = FLAGS[issue.path.join(".")] ?? issue.path.join(".");
    faults.push({ name, message: issue.message });
  }
  if (faults.length > 0 || !cluster.success || !functionsAccess || !relayAccess)
    throw new ConfigurationError(faults);
  return { cluster: cluster.data, relayAccess, functionsAccess };
}

/** The flags that correspond to these keys of an entry. */
const FLAGS: Readonly<Record<string, string>> = {
  name: "--cluster-name",
  controllers: "--controllers",
  ...Object.fromEntries([...SET_BY_FLAGS].map(([name, key]) => [key, name])),
};

function hasDefaultControllers(controllers: readonly ControllerName[]): boolean {
  const byDefault = ClusterEntry.shape.controllers.parse(undefined);
  return byDefault.length === controllers.length && byDefault.every((each) => controllers.includes(each));
}

function readPort(text: string, faults: ConfigurationFault[]): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  faults.push({ name: "--port", message: `"${text}" is no port; give 0 (any free one) to 65535` });
  return Number.NaN;
}

function readAllowedHosts(text: string | undefined, faults: ConfigurationFault[]): readonly string[] {
  const parsed = parseAllowedHosts(text ?? "");
  if (parsed.kind === "hosts") return parsed.hosts;
  faults.push(...parsed.faults.map((message) => ({ name: "--allowed-hosts", message })));
  return [];
}

function readQuotaPercent(text: string, faults: ConfigurationFault[]): number {
  const percent = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (percent >= 1 && percent <= 100) return percent;
  faults.push({ name: "--quota-percent", message: `"${text}" is no part of the quotas; give 1 to 100` });
  return Number.NaN;
}

/** A cloud-config has ten lines. */
const MAX_CLOUD_CONFIG_BYTES = 1024 * 1024;

/** Reads the cloud from the flags and their cloud-config, or adds to `faults` why it cannot be used. */
export async function readCloud(
  flags: Pick<ClusterFlags, "cloudProvider" | "cloudConfig">,
  environment: Readonly<Record<string, string | undefined>>,
  faults: ConfigurationFault[],
): Promise<WrittenCloudConfig | undefined> {
  let text: string | undefined = "";
  try {
    if (flags.cloudConfig !== undefined)
      text = await readSmallFile(flags.cloudConfig, MAX_CLOUD_CONFIG_BYTES, { pipes: true });
  } catch (error) {
    // The file is unreadable, so no key in it counts as missing.
    text = undefined;
    faults.push({ name: "--cloud-config", message: `${flags.cloudConfig} ${describeFileError(error)}` });
  }
  const parsed = parseCloudConfig(flags.cloudProvider, text, environment, flags.cloudConfig);
  if (parsed.kind === "cloud") return parsed.cloud;
  faults.push(...parsed.faults);
  return undefined;
}

/** Reads the kubeconfig that a flag names, or adds to `faults` why it cannot be used. */
export async function readAccess(
  name: string,
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<KubeconfigAccess | undefined> {
  if (file === undefined) {
    faults.push({ name, message: "is required: the file with which to reach the cluster's API server" });
    return undefined;
  }
  try {
    return await readKubeconfig(file);
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    faults.push({ name, message: `${file} ${error.message}` });
    return undefined;
  }
}

/**
 * The description of a relay's clusters: a file, or flags. `unread` is the file that the environment names
 * and that flags override.
 */
export type ClusterSource =
  | { readonly kind: "file"; readonly file: string }
  | { readonly kind: "flags"; readonly unread: string | undefined };

/** Flags that describe one cluster, and what replaces them in a clusters file. */
const ONE_CLUSTER: Readonly<Record<string, string>> = {
  "--cloud-provider": "cloud.provider of each entry",
  "--cloud-config": "cloud of each entry",
  "--cluster-name": "name of each entry",
  "--kubeconfig": "server and signIn.functions of each entry",
  "--relay-kubeconfig": "signIn.relay of each entry",
  "--controllers": "controllers of each entry",
  ...Object.fromEntries([...SET_BY_FLAGS].map(([name, key]) => [name, `${key} of each entry`])),
};

/**
 * Reads whether a file or flags describe the clusters; `given` are the flags on the command line, without
 * defaults.
 *
 * Flags win over the environment: `--kubeconfig` with $CLUSTERS_FILE means the one cluster that it reaches.
 * With `--clusters-file`, each flag for one cluster is a fault.
 */
export function selectClusterSource(
  clustersFile: string | undefined,
  given: ReadonlySet<string>,
  environment: Environment,
  faults: ConfigurationFault[],
): ClusterSource {
  const fromEnvironment = findClustersFile(undefined, environment);
  if (clustersFile === undefined && (given.has("--kubeconfig") || fromEnvironment === undefined))
    return { kind: "flags", unread: fromEnvironment };
  const [beside, instead] =
    clustersFile === undefined
      ? ["the clusters file that $CLUSTERS_FILE names", "; for one cluster give --kubeconfig, too"]
      : ["--clusters-file", ""];
  for (const [name, key] of Object.entries(ONE_CLUSTER)) {
    if (!given.has(name)) continue;
    const message = `describes one cluster, and cannot be combined with ${beside}: set ${key}${instead}`;
    faults.push({ name, message });
  }
  return { kind: "file", file: clustersFile ?? fromEnvironment ?? "" };
}

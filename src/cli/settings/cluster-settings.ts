import { findClustersFile } from "#cli/clusters/clusters-file.ts";
import { type KubeconfigAccess, readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import { KubeconfigError } from "#cli/clusters/kubeconfig-trust.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { readControllerFlags, SET_BY_FLAGS, selectControllers } from "#cli/settings/controller-flags.ts";
import type { Environment } from "#clouds/provider.ts";
import { type CloudFlags, readCloudConfig } from "#config/cloud-config.ts";
import { Cluster, ClusterEntry } from "#config/cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import type { ControllerName } from "#core/event.ts";
import type { TypedFlags } from "#core/flags.ts";
import { FUNCTION_IDENTITIES, type FunctionIdentity } from "#core/identities.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The flags that describe one cluster, as typed, with those of its controllers. */
export interface DescribingFlags extends TypedFlags, CloudFlags {
  readonly clusterName: string;
  readonly kubeconfig?: string | undefined;
  readonly relayKubeconfig?: string | undefined;
  readonly controllers: string;
  /** `NAME=FILE` for each function with an identity of its own. */
  readonly functionKubeconfig?: readonly string[];
}

export interface ClusterFlags extends DescribingFlags {
  readonly dryRun: boolean;
}

/** One cluster from flags, and how relay and functions sign in to it. */
export interface ClusterSettings {
  readonly cluster: Cluster;
  readonly relayAccess: KubeconfigAccess;
  /** The sign-in of every function without one of its own. */
  readonly functionsAccess: KubeconfigAccess;
  readonly accessByFunction: FunctionAccess;
}

/** What a command needs from the flags. */
export interface ClusterNeeds {
  /** Whether the command calls no cloud, so that the cloud's flags may be missing. */
  readonly noCloud?: boolean;
}

/**
 * Reads one cluster from flags and the files they name; throws `ConfigurationError` with every fault found,
 * `faults` included.
 */
export async function readClusterSettings(
  flags: ClusterFlags,
  environment: Readonly<Record<string, string | undefined>>,
  faults: ConfigurationFault[],
  { noCloud = false }: ClusterNeeds = {},
): Promise<ClusterSettings> {
  const accessByFunction = await readFunctionAccess(flags.functionKubeconfig ?? [], faults);
  const saysNoCloud = noCloud && flags.cloudProvider === undefined && flags.cloudConfig === undefined;
  const cloud = saysNoCloud ? undefined : await readCloudConfig(flags, environment, faults);
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
  return { cluster: cluster.data, relayAccess, functionsAccess, accessByFunction };
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

const FUNCTION_KUBECONFIG = "--function-kubeconfig";

/** The kubeconfigs with which functions of `run` sign in themselves; the others use `--kubeconfig`. */
export type FunctionAccess = ReadonlyMap<FunctionIdentity, KubeconfigAccess>;

/**
 * Reads `--function-kubeconfig NAME=FILE`, which may be given once for each function; every fault goes to
 * `faults`.
 */
export async function readFunctionAccess(
  given: readonly string[],
  faults: ConfigurationFault[],
): Promise<FunctionAccess> {
  const files = new Map<FunctionIdentity, string>();
  for (const text of given) {
    const at = text.indexOf("=");
    const name = FUNCTION_IDENTITIES.find((each) => each === text.slice(0, Math.max(at, 0)));
    const file = text.slice(at + 1);
    if (name === undefined || file === "")
      faults.push({ name: FUNCTION_KUBECONFIG, message: formatUnusable(text) });
    else if (files.has(name))
      faults.push({ name: FUNCTION_KUBECONFIG, message: `names ${name} twice; leave one of them out` });
    else files.set(name, file);
  }
  const access = new Map<FunctionIdentity, KubeconfigAccess>();
  for (const [name, file] of files) {
    const read = await readAccess(`${FUNCTION_KUBECONFIG} ${name}`, file, faults);
    if (read !== undefined) access.set(name, read);
  }
  return access;
}

function formatUnusable(text: string): string {
  return `"${sanitizeText(text)}" names no function and its file; write it as ${FUNCTION_IDENTITIES.join(" or ")}, then = and a kubeconfig`;
}

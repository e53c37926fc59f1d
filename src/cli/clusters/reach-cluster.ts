import { toConfigurationFaults, toReadFaults } from "#cli/clusters/clusters-file.ts";
import { connectMinted, connectRelay } from "#cli/clusters/connect-identity.ts";
import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import type { KubeconfigAccess } from "#cli/clusters/kubeconfig.ts";
import {
  openAnyRegistry,
  type RegistrySettingFlags,
  readAllowedNetworks,
} from "#cli/clusters/management-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { formatList } from "#cli/format-list.ts";
import {
  type ClusterNeeds,
  type ClusterSettings,
  type DescribingFlags,
  readClusterSettings,
  selectClusterSource,
} from "#cli/settings/cluster-settings.ts";
import type { Environment } from "#clouds/provider.ts";
import { type AddressRules, createAddressJudge, selectAddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { selectSignInKey, signIn } from "#config/sign-in.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { formatUser } from "#core/identities.ts";
import { findNearest } from "#core/nearest.ts";
import { findRelayWriter } from "#core/relay-lease.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import type { ConnectOptions } from "#kube/client/connect.ts";
import { impersonate, type Transport } from "#kube/client/transport.ts";

/** The flags of commands that read clusters; `given` are those on the command line, without defaults. */
export interface ReachFlags extends DescribingFlags, RegistrySettingFlags {
  readonly clustersFile?: string | undefined;
  readonly allowedNetworks?: string | undefined;
  readonly given: ReadonlySet<string>;
}

/** A cluster, and its API server for each identity. */
export interface ReachableCluster {
  readonly cluster: Cluster;
  /**
   * Returns the name of an identity's sign-in: equal for identities that share it, undefined if it has none.
   */
  signInOf(role: SignInRole): string | undefined;
  /** Signs in, once for each sign-in, and sends nothing yet; rejects if the credentials cannot be used. */
  api(role: SignInRole): Promise<Transport>;
  close(): Promise<void>;
}

/**
 * Connects to the cluster of this name in a clusters file, or the one that flags describe; throws
 * `ConfigurationError` with every fault.
 */
export async function connectCluster(
  name: string | undefined,
  flags: ReachFlags,
  environment: Environment,
  needs?: ClusterNeeds,
): Promise<ReachableCluster> {
  const { clusters, faults } = await connectClusters(name, flags, environment, needs);
  const [only] = clusters;
  if (only !== undefined && clusters.length === 1) return only;
  if (clusters.length === 0) throw new ConfigurationError(faults);
  const names = clusters.map(({ cluster }) => cluster.name);
  const message = `is missing: name one of the file's clusters, ${formatList(names, MAX_NAMED)}`;
  throw new ConfigurationError([{ name: "CLUSTER", message }]);
}

/** Usable clusters, and the faults of other entries. */
export interface ReachableClusters {
  readonly clusters: readonly ReachableCluster[];
  readonly faults: readonly ConfigurationFault[];
}

/** Connects to one named cluster, or to all of the file. Faulty entries do not affect the others. */
export async function connectClusters(
  name: string | undefined,
  flags: ReachFlags,
  environment: Environment,
  needs?: ClusterNeeds,
): Promise<ReachableClusters> {
  const faults: ConfigurationFault[] = [];
  const source = selectClusterSource(flags.clustersFile, flags.given, environment, faults);
  if (source.kind === "file") return connectRegistry(source.file, flags, environment, faults, name);
  const clusterName = selectClusterName(name, flags, faults);
  const wanted = { ...flags, clusterName, dryRun: false };
  const settings = await readClusterSettings(wanted, environment, faults, needs);
  return { clusters: [connectByFlags(settings)], faults: [] };
}

function connectByFlags({
  cluster,
  relayAccess,
  functionsAccess,
  accessByFunction,
}: ClusterSettings): ReachableCluster {
  const ofFunctions = new Map<SignInRole, KubeconfigAccess>(accessByFunction);
  const accessOf = (role: SignInRole): KubeconfigAccess =>
    role === "relay" ? relayAccess : (ofFunctions.get(role) ?? functionsAccess);
  const signInOf = (role: SignInRole): SignInRole => {
    if (role === "relay") return relayAccess === functionsAccess ? "functions" : "relay";
    return ofFunctions.has(role) ? role : "functions";
  };
  return createReachableCluster(cluster, signInOf, async (role) =>
    connectExplained({ ...accessOf(role), ...getBodyLimits(cluster) }),
  );
}

/** Commands list nodes with either identity; a page of 500 is 2–10 MB. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

function getBodyLimits({ limits }: Cluster): Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes"> {
  return { maxBodyBytes: MAX_PAGE_BYTES, maxWriteBodyBytes: limits.answerBytes };
}

function selectClusterName(
  name: string | undefined,
  flags: ReachFlags,
  faults: ConfigurationFault[],
): string {
  if (name === undefined || name === flags.clusterName) return flags.clusterName;
  if (flags.given.has("--cluster-name")) {
    const message = `says "${sanitizeText(flags.clusterName)}", and the command is for "${sanitizeText(name)}": leave one of the two out`;
    faults.push({ name: "--cluster-name", message });
  }
  return name;
}

/**
 * Connects to the clusters of a registry, or the one of this name; throws `ConfigurationError` if it cannot
 * be read, with `faults`.
 */
export async function connectRegistry(
  reference: string,
  flags: Pick<ReachFlags, "allowedNetworks" | keyof RegistrySettingFlags>,
  environment: Environment,
  faults: ConfigurationFault[],
  name?: string,
): Promise<ReachableClusters> {
  const registry = await openAnyRegistry(reference, flags, faults, environment);
  const networks = readAllowedNetworks(flags.allowedNetworks, environment, faults);
  return connectInRegistry(name, registry, selectAddressRules(registry.kind, networks), faults);
}

async function connectInRegistry(
  name: string | undefined,
  registry: ClusterRegistry,
  addresses: AddressRules,
  faults: ConfigurationFault[],
): Promise<ReachableClusters> {
  const file = registry.name;
  const content = await registry.read().catch((error: unknown) => {
    throw new ConfigurationError([...faults, ...toReadFaults(file, error)]);
  });
  const isWanted = (entry: { readonly name: string | undefined }): boolean =>
    name === undefined || entry.name === name;
  const wanted = content.clusters.filter(isWanted);
  const faulty = content.faulty
    .filter(isWanted)
    .flatMap((entry) => toConfigurationFaults(file, entry.faults));
  if (wanted.length + faulty.length === 0) faults.push(buildUnknownClusterFault(name, file, content));
  if (faults.length > 0) throw new ConfigurationError([...faults, ...faulty]);
  const clusters = wanted.map((cluster) =>
    createReachableCluster(
      cluster,
      (role) =>
        cluster.writes === "relay" ? findRepresentedRole(cluster, role) : selectSignInKey(cluster, role),
      (role) => signInTo(cluster, role, addresses),
    ),
  );
  return { clusters, faults: faulty };
}

async function signInTo(cluster: Cluster, role: SignInRole, addresses: AddressRules): Promise<Transport> {
  if (role === "relay") return connectRelay(cluster, addresses);
  if (cluster.writes === "relay") return impersonateRole(await connectRelay(cluster, addresses), role);
  const judgeAddress = createAddressJudge(addresses);
  const key = selectSignInKey(cluster, role);
  const signInMethod = key === undefined ? undefined : cluster.signIn[key];
  if (signInMethod?.kind === "minted-token")
    return connectMinted(cluster, role, signInMethod, addresses, getBodyLimits(cluster));
  return connectExplained({
    server: cluster.server,
    judgeAddress,
    ...(await signIn(cluster, role)),
    ...getBodyLimits(cluster),
  });
}

/** If the relay writes for a cluster, it represents every function. */
function findRepresentedRole({ controllers }: Cluster, role: SignInRole): SignInRole | undefined {
  if (role === "relay" || role === "sweep" || role === "functions") return role;
  return controllers.some((name) => findRelayWriter(name)?.identity === role) ? role : undefined;
}

/** Sends as the relay on behalf of a function; by default the node function's. */
function impersonateRole(transport: Transport, role: Exclude<SignInRole, "relay">): Transport {
  const user = formatUser(role === "functions" ? "node" : role);
  return { ...impersonate(transport, user), close: () => transport.close() };
}

function buildUnknownClusterFault(
  name: string | undefined,
  file: string,
  { clusters }: ClustersFile,
): ConfigurationFault {
  if (name === undefined)
    return { name: file, message: "has no clusters yet; add one by `serverless-ccm clusters add`" };
  const names = clusters.map((cluster) => cluster.name);
  const near = findNearest(name, names);
  const hint = near === undefined ? `it has ${formatList(names, MAX_NAMED)}` : `did you mean ${near}?`;
  return { name: file, message: `has no cluster "${sanitizeText(name)}"; ${hint}` };
}

function createReachableCluster(
  cluster: Cluster,
  signInOf: (role: SignInRole) => SignInRole | undefined,
  open: (role: SignInRole) => Promise<Transport>,
): ReachableCluster {
  const opened = new Map<string | undefined, Promise<Transport>>();
  return {
    cluster,
    signInOf,
    api(role) {
      const key = signInOf(role);
      const known = opened.get(key) ?? open(role);
      opened.set(key, known);
      return known;
    },
    async close() {
      const all = await Promise.allSettled(opened.values());
      await Promise.all(all.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)));
    },
  };
}

const MAX_NAMED = 10;

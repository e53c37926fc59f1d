import { readAllowedNetworks } from "#cli/allowed-networks.ts";
import { clusterSourceOf } from "#cli/cluster-source.ts";
import { faultsIn, faultsOfReading } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { connectMinted } from "#cli/connect-minted.ts";
import { connectRelay } from "#cli/connect-relay.ts";
import { connectExplained } from "#cli/explain-refusal.ts";
import { type FunctionAccess, readFunctionAccess } from "#cli/function-kubeconfigs.ts";
import type { KubeconfigAccess } from "#cli/kubeconfig.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import {
  type ClusterFlags,
  type ClusterNeeds,
  type ClusterSettings,
  readClusterSettings,
} from "#cli/settings.ts";
import { someOf } from "#cli/some-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { type AddressRules, judgeBy } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ClustersFile } from "#config/clusters-file.ts";
import type { ClusterHome } from "#config/home/home.ts";
import { type SignInRole, signIn, signInKeyOf } from "#config/sign-in.ts";
import { userOf } from "#core/identities.ts";
import { nearest } from "#core/nearest.ts";
import { shown } from "#core/shown-text.ts";
import { writtenAs } from "#core/written-by-relay.ts";
import { actingAs } from "#kube/client/acting-as.ts";
import type { ConnectOptions } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** The flags of commands that look at clusters; `given` are those that stand on the command line, defaults aside. */
export interface ReachFlags extends Omit<ClusterFlags, "dryRun">, HomeSettingFlags {
  readonly clustersFile?: string | undefined;
  readonly functionKubeconfig?: readonly string[] | undefined;
  readonly allowedNetworks?: string | undefined;
  readonly given: ReadonlySet<string>;
}

/** A cluster, and its API server as each identity sees it. */
export interface ReachableCluster {
  readonly cluster: Cluster;
  /** What somebody signs in with, by name: equal for those who share it, and undefined for whom there is nothing. */
  signInOf(role: SignInRole): string | undefined;
  /** Signs in, once with each, and sends nothing yet; rejects where what is signed in with cannot be used. */
  api(role: SignInRole): Promise<Transport>;
  close(): Promise<void>;
}

/** The cluster of this name in a clusters file, or the one that flags describe; throws `ConfigurationError` with every fault. */
export async function reachCluster(
  name: string | undefined,
  flags: ReachFlags,
  environment: Environment,
  needs?: ClusterNeeds,
): Promise<ReachableCluster> {
  const { clusters, faults } = await reachClusters(name, flags, environment, needs);
  const [only] = clusters;
  if (only !== undefined && clusters.length === 1) return only;
  if (clusters.length === 0) throw new ConfigurationError(faults);
  const names = clusters.map(({ cluster }) => cluster.name);
  const message = `is missing: name one of the file's clusters, ${someOf(names, MAX_NAMED)}`;
  throw new ConfigurationError([{ name: "CLUSTER", message }]);
}

/** Clusters that can be used, and what is wrong with the entries of others. */
export interface ReachableClusters {
  readonly clusters: readonly ReachableCluster[];
  readonly faults: readonly ConfigurationFault[];
}

/** The same; without a name all clusters of the file, whose faulty entries are none the others' fault. */
export async function reachClusters(
  name: string | undefined,
  flags: ReachFlags,
  environment: Environment,
  needs?: ClusterNeeds,
): Promise<ReachableClusters> {
  const faults: ConfigurationFault[] = [];
  const source = clusterSourceOf(flags.clustersFile, flags.given, environment, faults);
  if (source.kind === "file") return reachHome(source.file, flags, environment, faults, name);
  const clusterName = nameOf(name, flags, faults);
  const own = await readFunctionAccess(flags.functionKubeconfig ?? [], faults);
  const wanted = { ...flags, clusterName, dryRun: false };
  const settings = await readClusterSettings(wanted, environment, faults, needs);
  return { clusters: [reachByFlags(settings, own)], faults: [] };
}

function reachByFlags(
  { cluster, relayAccess, functionsAccess }: ClusterSettings,
  own: FunctionAccess,
): ReachableCluster {
  const ofFunctions = new Map<SignInRole, KubeconfigAccess>(own);
  const accessOf = (role: SignInRole): KubeconfigAccess =>
    role === "relay" ? relayAccess : (ofFunctions.get(role) ?? functionsAccess);
  const signInOf = (role: SignInRole): SignInRole => {
    if (role === "relay") return relayAccess === functionsAccess ? "functions" : "relay";
    return ofFunctions.has(role) ? role : "functions";
  };
  return reachable(cluster, signInOf, async (role) =>
    connectExplained({ ...accessOf(role), ...boundsOf(cluster) }),
  );
}

/** Commands list nodes with either identity; a page of 500 is 2–10 MB. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

function boundsOf({ limits }: Cluster): Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes"> {
  return { maxBodyBytes: MAX_PAGE_BYTES, maxWriteBodyBytes: limits.answerBytes };
}

function nameOf(name: string | undefined, flags: ReachFlags, faults: ConfigurationFault[]): string {
  if (name === undefined || name === flags.clusterName) return flags.clusterName;
  if (flags.given.has("--cluster-name")) {
    const message = `says "${shown(flags.clusterName)}", and the command is for "${shown(name)}": leave one of the two out`;
    faults.push({ name: "--cluster-name", message });
  }
  return name;
}

/** The clusters of a home, or the one of this name there; throws `ConfigurationError` where it cannot be read, with `faults`. */
export async function reachHome(
  reference: string,
  flags: Pick<ReachFlags, "allowedNetworks" | keyof HomeSettingFlags>,
  environment: Environment,
  faults: ConfigurationFault[],
  name?: string,
): Promise<ReachableClusters> {
  const home = await openAnyHome(reference, flags, faults, environment);
  const addresses = readAllowedNetworks(flags.allowedNetworks, environment, home.kind, faults);
  return reachInHome(name, home, addresses, faults);
}

async function reachInHome(
  name: string | undefined,
  home: ClusterHome,
  addresses: AddressRules,
  faults: ConfigurationFault[],
): Promise<ReachableClusters> {
  const file = home.name;
  const content = await home.read().catch((error: unknown) => {
    throw new ConfigurationError([...faults, ...faultsOfReading(file, error)]);
  });
  const isWanted = (entry: { readonly name: string | undefined }): boolean =>
    name === undefined || entry.name === name;
  const wanted = content.clusters.filter(isWanted);
  const faulty = content.faulty.filter(isWanted).flatMap((entry) => faultsIn(file, entry.faults));
  if (wanted.length + faulty.length === 0) faults.push(unknownCluster(name, file, content));
  if (faults.length > 0) throw new ConfigurationError([...faults, ...faulty]);
  const clusters = wanted.map((cluster) =>
    reachable(
      cluster,
      (role) => (cluster.writes === "relay" ? stoodFor(cluster, role) : signInKeyOf(cluster, role)),
      (role) => signInTo(cluster, role, addresses),
    ),
  );
  return { clusters, faults: faulty };
}

async function signInTo(cluster: Cluster, role: SignInRole, addresses: AddressRules): Promise<Transport> {
  if (role === "relay") return connectRelay(cluster, addresses);
  if (cluster.writes === "relay") return inStead(await connectRelay(cluster, addresses), role);
  const judgeAddress = judgeBy(addresses);
  const key = signInKeyOf(cluster, role);
  const how = key === undefined ? undefined : cluster.signIn[key];
  if (how?.kind === "minted-token") return connectMinted(cluster, role, how, addresses, boundsOf(cluster));
  return connectExplained({
    server: cluster.server,
    judgeAddress,
    ...(await signIn(cluster, role)),
    ...boundsOf(cluster),
  });
}

/** Where the relay writes, it is everybody whom it stands for. */
function stoodFor({ controllers }: Cluster, role: SignInRole): SignInRole | undefined {
  if (role === "relay" || role === "sweep" || role === "functions") return role;
  return controllers.some((name) => writtenAs(name)?.identity === role) ? role : undefined;
}

/** What the relay sends in somebody's stead; where nobody in particular is asked for, the node function's. */
function inStead(transport: Transport, role: Exclude<SignInRole, "relay">): Transport {
  const user = userOf(role === "functions" ? "node" : role);
  return { ...actingAs(transport, user), close: () => transport.close() };
}

function unknownCluster(
  name: string | undefined,
  file: string,
  { clusters }: ClustersFile,
): ConfigurationFault {
  if (name === undefined)
    return { name: file, message: "has no clusters yet; add one by `serverless-ccm clusters add`" };
  const names = clusters.map((cluster) => cluster.name);
  const near = nearest(name, names);
  const hint = near === undefined ? `it has ${someOf(names, MAX_NAMED)}` : `did you mean ${near}?`;
  return { name: file, message: `has no cluster "${shown(name)}"; ${hint}` };
}

function reachable(
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

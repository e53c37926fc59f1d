import { listConfigurationWarnings } from "#cli/clusters/cluster-warnings.ts";
import { requireClustersFile, toReadFaults } from "#cli/clusters/clusters-file.ts";
import { describeSignInFailure } from "#cli/clusters/connect-identity.ts";
import { findExpiredToken } from "#cli/clusters/explain-refusal.ts";
import { buildTrust } from "#cli/clusters/kubeconfig-trust.ts";
import { loadKubeconfig } from "#cli/clusters/load-kubeconfig.ts";
import { openAnyRegistry, type RegistrySettingFlags } from "#cli/clusters/management-cluster.ts";
import { connectRegistry, type ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { listConnectionChecks, runChecks } from "#cli/doctor/checks.ts";
import { createCheckContext } from "#cli/doctor/context.ts";
import { formatCounted } from "#cli/format-list.ts";
import type { CloudConfig } from "#clouds/providers.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, formatFault, formatFaultPlace, formatFaults } from "#config/clusters-file.ts";
import { SignInError, type SignInRole } from "#config/sign-in/error.ts";
import { selectSignInKey, signIn } from "#config/sign-in.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { startAtMost } from "#kube/client/semaphore.ts";

/** The source of the clusters. */
export interface ClustersFlags extends RegistrySettingFlags {
  readonly clustersFile?: string | undefined;
}

/**
 * Selects the sign-ins that `clusters check` tries: the relay's, one function's, those of all `functions`, or
 * `none`.
 */
export interface CheckFlags extends ClustersFlags {
  readonly signIn: string;
  /** Whether to connect as each identity and compare its rights with the required ones. */
  readonly connect?: boolean | undefined;
  readonly allowedNetworks?: string | undefined;
}

/** Ends the process with exit code 1 after the command has already printed what failed. */
export class ChecksFailedError extends Error {
  override readonly name = "FoundFaults";
}

type Write = (line: string) => void;

/** Prints a line for every fault of the entries and sign-ins; throws `ChecksFailedError` if there is one. */
export async function checkClusters(flags: CheckFlags, write: Write): Promise<void> {
  const context = parseSignInRole(flags.signIn);
  const file = getClustersFile(flags);
  const { clusters, faulty } = await readContent(file, flags);
  for (const { faults } of faulty) for (const fault of faults) write(formatFault(file, fault));
  for (const { cluster, message } of listConfigurationWarnings(clusters))
    write(`${file}: cluster ${cluster}: warning: ${message}`);
  const unusable = context === undefined ? [] : await checkSignIns(clusters, context);
  for (const line of unusable) write(line);
  const refused = flags.connect === true ? await checkConnections(flags) : [];
  for (const line of refused) write(line);
  const total = clusters.length + faulty.length;
  const summary = `${formatCounted(total, "cluster")}, ${faulty.length} faulty, ${unusable.length} that cannot be signed in to${
    flags.connect === true ? `, ${formatCounted(refused.length, "check")} failed` : ""
  }`;
  if (faulty.length + unusable.length + refused.length > 0) throw new ChecksFailedError(summary);
  write(summary);
}

/** Prints the hash that events of the cluster carry. */
export async function hashCluster(name: string, flags: ClustersFlags, write: Write): Promise<void> {
  const file = getClustersFile(flags);
  const { clusters, faulty } = await readContent(file, flags);
  const faults = faulty.filter((entry) => entry.name === name).flatMap((entry) => entry.faults);
  if (faults.length > 0)
    throw new ConfigurationError(
      faults.map((fault) => ({ name: formatFaultPlace(file, fault), message: fault.message })),
    );
  const cluster = clusters.find((each) => each.name === name);
  if (cluster === undefined) {
    const message = `has no cluster of this name; \`serverless-ccm clusters list\` prints those that it has`;
    throw new ConfigurationError([{ name: `${file}: ${name}`, message }]);
  }
  write(cluster.hash);
}

/**
 * Prints a line for each cluster: its name, hash, server, cloud and controllers; only the name of a faulty
 * one.
 */
export async function listClusters(flags: ClustersFlags, write: Write): Promise<void> {
  const file = getClustersFile(flags);
  const { clusters, faulty } = await readContent(file, flags);
  const rows = [
    ["NAME", "HASH", "SERVER", "CLOUD", "CONTROLLERS", "HOME"],
    ...clusters.map(({ name, hash, server, cloud, controllers }) => {
      return [name, hash, server, formatCloud(cloud), controllers.join(","), file];
    }),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  for (const row of rows)
    write(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
  for (const { name, faults } of faulty) write(`${name ?? "?"}  faulty: ${formatFaults(file, faults)}`);
}

/** Runs the checks of `doctor` for API servers, identities and rights, without those of the cloud. */
async function checkConnections(flags: CheckFlags): Promise<string[]> {
  const faults: ConfigurationFault[] = [];
  const { clusters } = await connectRegistry(getClustersFile(flags), flags, process.env, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  const found = startAtMost(MAX_AT_ONCE, clusters, (reached) =>
    connectTo(reached).finally(() => reached.close()),
  );
  return (await Promise.all(found)).flat();
}

/** The number of clusters that are checked at a time. */
const MAX_AT_ONCE = 8;

async function connectTo(reached: ReachableCluster): Promise<string[]> {
  const context = createCheckContext(reached, {});
  try {
    const findings = await runChecks(listConnectionChecks(context), context);
    const failed = findings.filter(({ outcome }) => outcome === "failed");
    return failed.map(({ check, message }) => `cluster ${reached.cluster.name}: ${check}: ${message}`);
  } finally {
    await context.close();
  }
}

function getClustersFile({ clustersFile }: ClustersFlags): string {
  return requireClustersFile(clustersFile, process.env);
}

function parseSignInRole(flag: string): SignInRole | undefined {
  if (flag === "none") return undefined;
  const known: readonly SignInRole[] = ["relay", "functions", ...FUNCTION_IDENTITIES];
  const context = known.find((role) => role === flag);
  if (context !== undefined) return context;
  const message = `"${flag}" is unknown; give one of ${[...known, "none"].join(", ")}`;
  throw new ConfigurationError([{ name: "--sign-in", message }]);
}

/** Lists all functions for which an entry has a sign-in, or the shared one if it has none. */
function listSignInRoles({ signIn }: Cluster, context: SignInRole): readonly SignInRole[] {
  if (context !== "functions") return [context];
  const own = FUNCTION_IDENTITIES.filter((name) => signIn[name] !== undefined);
  return signIn.functions === undefined && own.length > 0 ? own : ["functions", ...own];
}

async function readContent(file: string, flags: ClustersFlags): Promise<ClustersFile> {
  const faults: ConfigurationFault[] = [];
  const registry = await openAnyRegistry(file, flags, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  try {
    return await registry.read();
  } catch (error) {
    throw new ConfigurationError(toReadFaults(file, error));
  }
}

async function checkSignIns(clusters: readonly Cluster[], context: SignInRole): Promise<string[]> {
  const tries = clusters.flatMap((cluster) =>
    listSignInRoles(cluster, context).map((role) => ({ cluster, role })),
  );
  const tried = await Promise.allSettled(tries.map(({ cluster, role }) => trySignIn(cluster, role)));
  return tried.flatMap((each, index) => {
    if (each.status === "fulfilled") return [];
    const { message } = describeSignInFailure(each.reason);
    const name = `cluster ${tries[index]?.cluster.name}`;
    return [message.startsWith(name) ? message : `${name}: ${message}`];
  });
}

/**
 * Reads the credentials of a sign-in. A kubeconfig is read and judged, and nothing in it is executed. An
 * expired token is a fault.
 */
async function trySignIn(cluster: Cluster, role: SignInRole): Promise<void> {
  const key = selectSignInKey(cluster, role) ?? role;
  const expired = findExpiredToken(await readAuthorizationHeader(cluster, role), Date.now());
  if (expired !== undefined)
    throw new SignInError("SecretExpired", { cluster: cluster.name, role, key }, expired);
}

async function readAuthorizationHeader(cluster: Cluster, role: SignInRole): Promise<string | undefined> {
  const signInMethod = cluster.signIn[role];
  // Minting a token requires a connection, which is for `--connect`.
  if (signInMethod?.kind === "minted-token") return undefined;
  if (role !== "relay" || signInMethod?.kind !== "kubeconfig" || signInMethod.file === undefined)
    return (await signIn(cluster, role)).authorization?.();
  const { config } = await loadKubeconfig(
    signInMethod.file,
    signInMethod.context,
    buildTrust(cluster, signInMethod.allow ?? []),
  );
  const token = config.getCurrentUser()?.token;
  return token ? `Bearer ${token}` : undefined;
}

function formatCloud(cloud: CloudConfig): string {
  return "region" in cloud ? `${cloud.provider} ${cloud.region}` : cloud.provider;
}

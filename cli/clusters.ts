import { configurationWarnings } from "#cli/cluster-doubts.ts";
import { faultsOfReading, neededClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { signInFaultOf } from "#cli/connect-relay.ts";
import { counted } from "#cli/counted.ts";
import { connectionChecks } from "#cli/doctor/checks.ts";
import { createCheckContext } from "#cli/doctor/context.ts";
import { runChecks } from "#cli/doctor/run-checks.ts";
import { findExpiredToken } from "#cli/explain-refusal.ts";
import { trustOf } from "#cli/kubeconfig-trust.ts";
import { loadKubeconfig } from "#cli/load-kubeconfig.ts";
import { type HomeSettingFlags, openAnyHome } from "#cli/management-cluster.ts";
import { type ReachableCluster, reachHome } from "#cli/reach-cluster.ts";
import type { CloudConfig } from "#clouds/kinds.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, faultLine, placeOf, sentenceOf } from "#config/clusters-file.ts";
import { SignInError } from "#config/sign-in/error.ts";
import { type SignInRole, signIn, signInKeyOf } from "#config/sign-in.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import { startAtMost } from "#kube/client/slots.ts";

/** Where the clusters are read from. */
export interface ClustersFlags extends HomeSettingFlags {
  readonly clustersFile?: string | undefined;
}

/** Whose sign-ins `clusters check` tries: the relay's, one function's, those of all `functions`, or nobody's for `none`. */
export interface CheckFlags extends ClustersFlags {
  readonly signIn: string;
  /** Whether each is connected to, and what it may do there compared with what it needs. */
  readonly connect?: boolean | undefined;
  readonly allowedNetworks?: string | undefined;
}

/** A command's answer that is no error of its own and ends the process with 1 all the same. */
export class FoundFaults extends Error {
  override readonly name = "FoundFaults";
}

type Write = (line: string) => void;

/** Writes a line for every fault of the file's entries and sign-ins; throws `FoundFaults` where there is one. */
export async function checkClusters(flags: CheckFlags, write: Write): Promise<void> {
  const whose = whoseOf(flags.signIn);
  const file = fileOf(flags);
  const { clusters, faulty } = await contentOf(file, flags);
  for (const { faults } of faulty) for (const fault of faults) write(faultLine(file, fault));
  for (const { cluster, message } of configurationWarnings(clusters))
    write(`${file}: cluster ${cluster}: warning: ${message}`);
  const unusable = whose === undefined ? [] : await signInFaults(clusters, whose);
  for (const line of unusable) write(line);
  const refused = flags.connect === true ? await connectionFaults(flags) : [];
  for (const line of refused) write(line);
  const total = clusters.length + faulty.length;
  const summary = `${counted(total, "cluster")}, ${faulty.length} faulty, ${unusable.length} that cannot be signed in to${
    flags.connect === true ? `, ${counted(refused.length, "check")} failed` : ""
  }`;
  if (faulty.length + unusable.length + refused.length > 0) throw new FoundFaults(summary);
  write(summary);
}

/** Writes the hash that events of the cluster carry. */
export async function hashCluster(name: string, flags: ClustersFlags, write: Write): Promise<void> {
  const file = fileOf(flags);
  const { clusters, faulty } = await contentOf(file, flags);
  const faults = faulty.filter((entry) => entry.name === name).flatMap((entry) => entry.faults);
  if (faults.length > 0)
    throw new ConfigurationError(
      faults.map((fault) => ({ name: placeOf(file, fault), message: fault.message })),
    );
  const cluster = clusters.find((each) => each.name === name);
  if (cluster === undefined) {
    const message = `has no cluster of this name; \`serverless-ccm clusters list\` prints those that it has`;
    throw new ConfigurationError([{ name: `${file}: ${name}`, message }]);
  }
  write(cluster.hash);
}

/** Writes a line for each cluster: its name, hash, server, cloud and controllers; faulty ones by name alone. */
export async function listClusters(flags: ClustersFlags, write: Write): Promise<void> {
  const file = fileOf(flags);
  const { clusters, faulty } = await contentOf(file, flags);
  const rows = [
    ["NAME", "HASH", "SERVER", "CLOUD", "CONTROLLERS", "HOME"],
    ...clusters.map(({ name, hash, server, cloud, controllers }) => {
      return [name, hash, server, cloudOf(cloud), controllers.join(","), file];
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
  for (const { name, faults } of faulty) write(`${name ?? "?"}  faulty: ${sentenceOf(file, faults)}`);
}

/** What `doctor` finds of API servers, identities and their rights, and nothing of the cloud. */
async function connectionFaults(flags: CheckFlags): Promise<string[]> {
  const faults: ConfigurationFault[] = [];
  const { clusters } = await reachHome(fileOf(flags), flags, process.env, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  const found = startAtMost(MAX_AT_ONCE, clusters, (reached) =>
    connectTo(reached).finally(() => reached.close()),
  );
  return (await Promise.all(found)).flat();
}

/** Clusters that are connected to at a time. */
const MAX_AT_ONCE = 8;

async function connectTo(reached: ReachableCluster): Promise<string[]> {
  const context = createCheckContext(reached, undefined);
  try {
    const findings = await runChecks(connectionChecks(context), context);
    const failed = findings.filter(({ outcome }) => outcome === "failed");
    return failed.map(({ check, message }) => `cluster ${reached.cluster.name}: ${check}: ${message}`);
  } finally {
    await context.close();
  }
}

function fileOf({ clustersFile }: ClustersFlags): string {
  return neededClustersFile(clustersFile, process.env);
}

function whoseOf(flag: string): SignInRole | undefined {
  if (flag === "none") return undefined;
  const known: readonly SignInRole[] = ["relay", "functions", ...FUNCTION_IDENTITIES];
  const whose = known.find((role) => role === flag);
  if (whose !== undefined) return whose;
  const message = `"${flag}" is none; give one of ${[...known, "none"].join(", ")}`;
  throw new ConfigurationError([{ name: "--sign-in", message }]);
}

/** Of all functions: those that an entry has something for, or the one of all where it has nothing. */
function rolesOf({ signIn }: Cluster, whose: SignInRole): readonly SignInRole[] {
  if (whose !== "functions") return [whose];
  const own = FUNCTION_IDENTITIES.filter((name) => signIn[name] !== undefined);
  return signIn.functions === undefined && own.length > 0 ? own : ["functions", ...own];
}

async function contentOf(file: string, flags: ClustersFlags): Promise<ClustersFile> {
  const faults: ConfigurationFault[] = [];
  const home = await openAnyHome(file, flags, faults);
  if (faults.length > 0) throw new ConfigurationError(faults);
  try {
    return await home.read();
  } catch (error) {
    throw new ConfigurationError(faultsOfReading(file, error));
  }
}

async function signInFaults(clusters: readonly Cluster[], whose: SignInRole): Promise<string[]> {
  const tries = clusters.flatMap((cluster) => rolesOf(cluster, whose).map((role) => ({ cluster, role })));
  const tried = await Promise.allSettled(tries.map(({ cluster, role }) => trySignIn(cluster, role)));
  return tried.flatMap((each, index) => {
    if (each.status === "fulfilled") return [];
    const { message } = signInFaultOf(each.reason);
    const name = `cluster ${tries[index]?.cluster.name}`;
    return [message.startsWith(name) ? message : `${name}: ${message}`];
  });
}

/** Reads what is signed in with; a kubeconfig is read and judged, and nothing is done of what it says. A token that has ended is a fault. */
async function trySignIn(cluster: Cluster, role: SignInRole): Promise<void> {
  const key = signInKeyOf(cluster, role) ?? role;
  const expired = findExpiredToken(await headerOf(cluster, role), Date.now());
  if (expired !== undefined)
    throw new SignInError("SecretExpired", { cluster: cluster.name, role, key }, expired);
}

async function headerOf(cluster: Cluster, role: SignInRole): Promise<string | undefined> {
  const how = cluster.signIn[role];
  // Whoever mints a token connects; that is for --connect.
  if (how?.kind === "minted-token") return undefined;
  if (role !== "relay" || how?.kind !== "kubeconfig" || how.file === undefined)
    return (await signIn(cluster, role)).authorization?.();
  const { config } = await loadKubeconfig(how.file, how.context, trustOf(cluster, how.allow ?? []));
  const token = config.getCurrentUser()?.token;
  return token ? `Bearer ${token}` : undefined;
}

function cloudOf(cloud: CloudConfig): string {
  return "region" in cloud ? `${cloud.provider} ${cloud.region}` : cloud.provider;
}

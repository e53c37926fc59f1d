import { doubtsOf } from "#cli/cluster-doubts.ts";
import { faultsOfReading, neededClustersFile } from "#cli/clusters-file.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { signInFaultOf } from "#cli/connect-relay.ts";
import { counted } from "#cli/counted.ts";
import { trustOf } from "#cli/kubeconfig-trust.ts";
import { loadKubeconfig } from "#cli/load-kubeconfig.ts";
import type { CloudConfig } from "#clouds/kinds.ts";
import type { Cluster } from "#config/cluster.ts";
import { type ClustersFile, faultLine, placeOf } from "#config/clusters-file.ts";
import { openHome } from "#config/home/open-home.ts";
import { type SignInRole, signIn } from "#config/sign-in.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";

/** Where the clusters are read from. */
export interface ClustersFlags {
  readonly clustersFile?: string | undefined;
}

/** Whose sign-ins `clusters check` tries: the relay's, one function's, those of all `functions`, or nobody's for `none`. */
export interface CheckFlags extends ClustersFlags {
  readonly signIn: string;
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
  const { clusters, faulty } = await contentOf(file);
  for (const { faults } of faulty) for (const fault of faults) write(faultLine(file, fault));
  for (const cluster of clusters)
    for (const doubt of doubtsOf(cluster)) write(`${file}: cluster ${cluster.name}: warning: ${doubt}`);
  const unusable = whose === undefined ? [] : await signInFaults(clusters, whose);
  for (const line of unusable) write(line);
  const total = clusters.length + faulty.length;
  const summary = `${counted(total, "cluster")}, ${faulty.length} faulty, ${unusable.length} that cannot be signed in to`;
  if (faulty.length + unusable.length > 0) throw new FoundFaults(summary);
  write(summary);
}

/** Writes the hash that events of the cluster carry. */
export async function hashCluster(name: string, flags: ClustersFlags, write: Write): Promise<void> {
  const file = fileOf(flags);
  const { clusters, faulty } = await contentOf(file);
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
  const { clusters, faulty } = await contentOf(fileOf(flags));
  const rows = [
    ["NAME", "HASH", "SERVER", "CLOUD", "CONTROLLERS"],
    ...clusters.map(({ name, hash, server, cloud, controllers }) => {
      return [name, hash, server, cloudOf(cloud), controllers.join(",")];
    }),
    ...faulty.map(({ name }) => [name ?? "?", "faulty", "see `clusters check`"]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  for (const row of rows)
    write(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
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

async function contentOf(file: string): Promise<ClustersFile> {
  try {
    return await openHome(file).read();
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

/** Reads what is signed in with; a kubeconfig is read and judged, and nothing is done of what it says. */
async function trySignIn(cluster: Cluster, role: SignInRole): Promise<void> {
  const how = cluster.signIn[role];
  if (role === "relay" && how?.kind === "kubeconfig" && how.file !== undefined)
    await loadKubeconfig(how.file, how.context, trustOf(cluster, how.allow ?? []));
  else await signIn(cluster, role);
}

function cloudOf(cloud: CloudConfig): string {
  return "region" in cloud ? `${cloud.provider} ${cloud.region}` : cloud.provider;
}

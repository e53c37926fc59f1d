import {
  type RegistrySettingFlags,
  type RegistrySettings,
  readAllowedNetworks,
  readRegistrySettings,
} from "#cli/clusters/management-cluster.ts";
import { findStopSwitch, findStopSwitchOfFlags, type StopSwitchFlags } from "#cli/deletion/stop-switch.ts";
import type { WorkersFor } from "#cli/relay/relay-worker-data.ts";
import type { ServingFlags, ServingSettings } from "#cli/relay/serving-settings.ts";
import type { JoinShard, ShardFlags } from "#cli/relay/sharding.ts";
import {
  type ClusterFlags,
  type ClusterSettings,
  type ClusterSource,
  readClusterSettings,
} from "#cli/settings/cluster-settings.ts";
import type { StockFlag } from "#cli/settings/stock-flags.ts";
import type { Environment } from "#clouds/provider.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

/** The flags that `run` and `relay` have in common, as typed. */
export interface ProcessFlags extends ClusterFlags, ServingFlags, RegistryFlags, ShardFlags {
  readonly workers?: string | undefined;
  readonly fleetBrake?: string | undefined;
}

/** What flags say about a process that follows clusters. */
export interface ProcessSettings {
  readonly serving: ServingSettings;
  /** The flags without effect. */
  readonly stockFlags: readonly StockFlag[];
  /** The record that limits unproven deletions over all clusters of a fleet. */
  readonly fleetBrake: string | undefined;
  /** For the clusters of a registry; undefined if all run in this thread. */
  readonly workersFor: WorkersFor | undefined;
  readonly followed: FollowedSettings;
}

/** The clusters that a process follows: the one that flags describe, or those of a registry. */
export type FollowedSettings =
  | ({ readonly kind: "cluster" } & ClusterFollowSettings)
  | ({ readonly kind: "registry" } & RegistryFollowSettings);

/** The one cluster that flags describe. */
export interface ClusterFollowSettings extends ClusterSettings {
  readonly stopSwitch: string | undefined;
  /** A clusters file of the environment, which flags override. */
  readonly unreadFile: string | undefined;
}

/** The flags about a cluster registry, as typed. */
export interface RegistryFlags extends StopSwitchFlags, RegistrySettingFlags {
  readonly clustersFile?: string | undefined;
  readonly allowedNetworks?: string | undefined;
  readonly dryRun: boolean;
}

/** The clusters of a registry, and how a process follows them. */
export interface RegistryFollowSettings {
  /** The registry, as `--clusters-file` names it. */
  readonly reference: string;
  readonly registry: RegistrySettings;
  /** The networks in which API servers may be; undefined for the registry's default. */
  readonly networks: readonly string[] | undefined;
  readonly stopSwitch: string | undefined;
  /** Joins the replicas that share the clusters; undefined if this process follows all. */
  readonly join: JoinShard | undefined;
  /** A dry run for all clusters, whatever their entries say. */
  readonly dryRun: boolean;
  /** What is wrong with any flag, to be reported with the faults of the registry. */
  readonly faults: readonly ConfigurationFault[];
}

/**
 * Reads which clusters to follow. For one cluster it throws `ConfigurationError` with every fault, `faults`
 * included. For a registry the settings hold them, to be reported with those of its content.
 */
export async function readFollowedSettings(
  source: ClusterSource,
  flags: ProcessFlags,
  join: JoinShard | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<FollowedSettings> {
  if (source.kind === "file")
    return {
      kind: "registry",
      ...(await readRegistryFollowSettings(source.file, flags, join, environment, faults)),
    };
  if (join !== undefined) faults.push(NOTHING_TO_SHARE);
  const settings = await readClusterSettings(flags, environment, faults);
  const stopSwitch = findStopSwitchOfFlags(flags, environment);
  return { kind: "cluster", ...settings, stopSwitch, unreadFile: source.unread };
}

/** The fault that replicas have nothing to share if flags describe one cluster. */
const NOTHING_TO_SHARE: ConfigurationFault = {
  name: "--shard-by, --shard-replicas",
  message: "share the clusters of a home; there is one cluster by flags, so give --clusters-file",
};

/** Reads how to follow the clusters of a registry; it adds to `faults`, and keeps them. */
async function readRegistryFollowSettings(
  reference: string,
  flags: RegistryFlags,
  join: JoinShard | undefined,
  environment: Environment,
  faults: ConfigurationFault[],
): Promise<RegistryFollowSettings> {
  return {
    reference,
    registry: await readRegistrySettings(flags, faults, environment),
    networks: readAllowedNetworks(flags.allowedNetworks, environment, faults),
    stopSwitch: findStopSwitch(flags, reference, environment),
    join,
    dryRun: flags.dryRun,
    faults,
  };
}

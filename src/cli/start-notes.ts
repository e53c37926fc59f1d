import { formatWarningLine } from "#cli/cluster-warnings.ts";
import { onHangup } from "#cli/ending-signal.ts";
import { log } from "#cli/serve.ts";
import type { StockFlag } from "#cli/stock-flags.ts";
import type { Cluster } from "#config/cluster.ts";

/** Logs that `--kubeconfig` overrides a clusters file from the environment. */
export function logFlagsWin(file: string): void {
  const message = "--kubeconfig means one cluster; the file that $CLUSTERS_FILE names is not read";
  log({ level: "info", event: "ClustersFileNotRead", file, message });
}

/** Logs that no cluster of the file will be written to. */
export function logDryRun(): void {
  const message = "all events of all clusters say dryRun: functions decide and report, and write nothing";
  log({ level: "info", event: "DryRun", message });
}

/** Logs that there is nothing to do until the file, or a file that it names, is repaired. */
export function logNoUsableCluster(file: string): void {
  const message =
    "no entry can be used now; each is followed as soon as it is mended, or its sign-in can be used";
  log({ level: "error", event: "NoClusterUsable", file, message });
}

/** Logs for SIGHUP that flags describe the one cluster, so nothing is read again. */
export function logNoReload(): void {
  const message =
    "what a kubeconfig and the files it names hold is read again by itself when it changes; flags and --cloud-config are not: they take a restart";
  onHangup(() => log({ level: "info", event: "NothingToReread", signal: "SIGHUP", message }));
}

/** Logs for each flag without effect what replaces it. */
export function logStockFlags(flags: readonly StockFlag[]): void {
  for (const { name, instead } of flags)
    log({
      level: "info",
      event: "FlagWithoutEffect",
      name,
      message: `${name} changes nothing here: ${instead}`,
    });
}

/** Logs the warnings about one cluster from flags. */
export function logConfigurationWarnings(cluster: Cluster): void {
  const warnings = formatWarningLine([cluster]);
  if (warnings !== undefined) log(warnings);
}

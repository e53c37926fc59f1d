import { doubtLine } from "#cli/cluster-doubts.ts";
import { onHangup } from "#cli/hangup.ts";
import { log } from "#cli/serve.ts";
import type { StockFlag } from "#cli/stock-flags.ts";
import type { Cluster } from "#config/cluster.ts";

/** Says that `--kubeconfig` was given beside a clusters file that the environment names. */
export function sayThatFlagsWin(file: string): void {
  const message = "--kubeconfig means one cluster; the file that $CLUSTERS_FILE names is not read";
  log({ level: "info", event: "ClustersFileNotRead", file, message });
}

/** Says that no cluster of the file will be written to. */
export function sayThatItIsDry(): void {
  const message = "all events of all clusters say dryRun: functions decide and report, and write nothing";
  log({ level: "info", event: "DryRun", message });
}

/** Says that there is nothing to do until the file, or what it names, is mended. */
export function sayThatNoneIsUsable(file: string): void {
  const message =
    "no entry can be used now; each is followed as soon as it is mended, or its sign-in can be used";
  log({ level: "error", event: "NoClusterUsable", file, message });
}

/** Answers SIGHUP where flags describe the one cluster that there is. */
export function sayThatNothingIsReadAgain(): void {
  const message =
    "what a kubeconfig and the files it names hold is read again by itself when it changes; flags and --cloud-config are not: they take a restart";
  onHangup(() => log({ level: "info", event: "NothingToReread", signal: "SIGHUP", message }));
}

/** Says of each flag that changes nothing here what takes its place. */
export function sayStockFlags(flags: readonly StockFlag[]): void {
  for (const { name, instead } of flags)
    log({
      level: "info",
      event: "FlagWithoutEffect",
      name,
      message: `${name} changes nothing here: ${instead}`,
    });
}

/** Says of one cluster by flags what is most likely a mistake. */
export function sayDoubts(cluster: Cluster): void {
  const doubts = doubtLine([cluster]);
  if (doubts !== undefined) log(doubts);
}

import { randomBytes } from "node:crypto";
import { formatWarningLine } from "#cli/clusters/cluster-warnings.ts";
import { onHangup } from "#cli/process.ts";
import { log } from "#cli/relay/serve.ts";
import type { StockFlag } from "#cli/settings/stock-flags.ts";
import type { Cluster } from "#config/cluster.ts";
import { EVENT_VERSION, type Event } from "#core/event.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { Invoker } from "#platforms/invoker.ts";
import {
  createPlatformHealth,
  type PlatformNote,
  type ProcessPlatformHealth,
} from "#relay/delivery/platform-health.ts";

export interface StartHealthOptions {
  /** The invoker that is probed; the caller closes it. */
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clusters: () => number;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
  /** Called whenever a function fails or recovers. */
  readonly onChange?: () => void;
  readonly clock?: Clock;
}

/** Starts the health check of the function platform; its changes are log lines. */
export function startHealth(options: StartHealthOptions): ProcessPlatformHealth {
  const { invoker, log, clock = systemClock } = options;
  const identity = randomBytes(4).toString("hex");
  let probes = 0;
  return createPlatformHealth({
    clock,
    clusters: options.clusters,
    async probe(failure, signal) {
      probes += 1;
      const invocation = await invoker.invoke(
        createProbeEvent(failure, `probe.${identity}.${probes}`),
        signal,
      );
      return invocation.kind === "report";
    },
    onChange(note) {
      log(formatPlatformNote(note));
      options.onChange?.();
    },
  });
}

function formatPlatformNote(note: PlatformNote): Readonly<Record<string, unknown>> {
  if (note.kind === "failed") {
    const { failure, durationMs } = note;
    const { controller, code } = failure;
    const message = `its events are handled in this process until the platform has been well for five minutes: ${failure.message}`;
    return { level: "error", event: "PlatformFailed", controller, code, durationMs, message };
  }
  const { controller, durationMs } = note;
  return { level: "info", event: "PlatformBack", controller, durationMs };
}

/**
 * Creates an event that starts a function without any work. Its only object is invalid, which the function
 * reports, and it is a dry run.
 */
export function createProbeEvent(
  of: Pick<Event, "controller" | "cluster" | "clusterHash">,
  id: string,
): Event {
  const { controller, cluster, clusterHash } = of;
  return {
    ...{ version: EVENT_VERSION, id, cluster, clusterHash, controller },
    reason: "replay",
    objects: [{}],
    dryRun: true,
  };
}

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
    "no entry can be used now; the relay follows each as soon as it is repaired, or its sign-in can be used";
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

import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import { type ActOnCluster, actOnClusters } from "#cli/clusters/every-cluster.ts";
import type { ReachableCluster, ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { createInitializations } from "#cli/handover/check/initializations.ts";
import { createJudge } from "#cli/handover/check/judge.ts";
import { createLifecycles } from "#cli/handover/check/lifecycles.ts";
import { createTally, type Tally } from "#cli/handover/check/tally.ts";
import { findOthers } from "#cli/handover/one-at-a-time.ts";
import { createEndingSignal } from "#cli/process.ts";
import { loadCloud } from "#clouds/providers.ts";
import { buildWatchContext, type Cluster } from "#config/cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { type DurationRange, readDuration } from "#core/flags.ts";
import { DIFFERENCE_CODES, type IgnoredDifference, parseIgnored } from "#core/handover-check/compare.ts";
import { type ObservedNode, parseObservedNode } from "#core/handover-check/observed-node.ts";
import { formatCollectionPath, NODES } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import { watchResource } from "#kube/follow/watch.ts";

/** The flags of `handover --check`, as typed. */
export interface CheckFlags extends ReachFlags {
  readonly check?: boolean | undefined;
  /** How long it watches; until a signal without it. */
  readonly for?: string | undefined;
  readonly once?: boolean | undefined;
  readonly ignore?: readonly string[] | undefined;
  /** Selects all clusters of the registry. */
  readonly all?: boolean | undefined;
  /** Flags of a hand-over, which a check does not have. */
  readonly dryRun?: boolean | undefined;
  readonly anyway?: boolean | undefined;
}

type Write = (line: string) => void;

/**
 * Compares what another cloud-controller-manager does in a cluster with what this one would do, and writes
 * nothing there.
 *
 * Throws `ChecksFailedError` for a difference, and `ConfigurationError` if there is no other controller or
 * nothing to compare. With `all` it compares in every cluster and prints a summary.
 */
export async function runCheck(name: string | undefined, flags: CheckFlags, write: Write): Promise<void> {
  const faults: ConfigurationFault[] = [];
  for (const [flag, isGiven] of [
    ["--dry-run", flags.dryRun],
    ["--anyway", flags.anyway],
  ] as const)
    if (isGiven === true) faults.push({ name: flag, message: "cannot be combined with --check" });
  const ignored = (flags.ignore ?? []).flatMap((text) => readIgnored(text, faults));
  const forMs = readFor(flags, faults);
  if (flags.all === true && flags.once !== true && flags.for === undefined)
    faults.push({ name: "--all", message: "needs --once, or --for with how long each cluster is watched" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  const act: ActOnCluster = (reached, tell) => compare({ reached, flags, ignored, forMs, write: tell });
  return actOnClusters(name, flags, act, { write });
}

/** Throws `ConfigurationError` for flags that only a check has. */
export function rejectCheckFlags({ once, ignore }: CheckFlags): void {
  const faults = [...(once === true ? ["--once"] : []), ...(ignore === undefined ? [] : ["--ignore"])].map(
    (name) => ({ name, message: "needs --check" }),
  );
  if (faults.length > 0) throw new ConfigurationError(faults);
}

interface CheckOptions {
  readonly reached: ReachableCluster;
  readonly flags: CheckFlags;
  readonly ignored: readonly IgnoredDifference[];
  readonly forMs: number | undefined;
  readonly write: Write;
}

/** Resolves to the result in one line. */
async function compare({ reached, flags, ignored, forMs, write }: CheckOptions): Promise<string> {
  const { cluster } = reached;
  const ending = createEndingSignal(flags.once === true ? undefined : forMs);
  try {
    const transport = await reached.api("relay");
    const others = await findOthers(cluster, transport, ending.signal, write);
    if (others.length === 0) refuseAlone(cluster);
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    try {
      const tally = createTally(ignored, write);
      const judge = createJudge(cluster, cloud);
      await follow({ cluster, transport, judge, tally, signal: ending.signal, isOnce: flags.once === true });
      return writeSummary(tally, write);
    } finally {
      await cloud.close();
    }
  } finally {
    ending.stop();
  }
}

function readIgnored(text: string, faults: ConfigurationFault[]): readonly IgnoredDifference[] {
  const ignored = parseIgnored(text);
  if (ignored !== undefined) return [ignored];
  const message = `"${sanitizeText(text)}" is not a code of a difference; there are ${DIFFERENCE_CODES.join(", ")}, each alone or as CODE:LABEL`;
  faults.push({ name: "--ignore", message });
  return [];
}

function readFor(flags: CheckFlags, faults: ConfigurationFault[]): number | undefined {
  if (flags.for === undefined) return undefined;
  if (flags.once === true)
    faults.push({ name: "--for", message: "cannot be combined with --once, which watches nothing" });
  const seconds = readDuration("--for", flags.for, FOR, faults);
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** The limit is a week. */
const FOR: DurationRange = { from: 1, to: 604_800, words: "1s to 168h", examples: "10m, 90s or 1h" };

/** A check without another controller proves nothing. */
function refuseAlone({ name }: Cluster): never {
  const message =
    "no other cloud-controller-manager is active here: none has written to a node, sent an Event or holds its Lease; a check needs one to compare with";
  throw new ConfigurationError([{ name: `cluster ${name}`, message }]);
}

interface CheckedCluster {
  readonly cluster: Cluster;
  readonly transport: Transport;
  readonly judge: ReturnType<typeof createJudge>;
  readonly tally: Tally;
  readonly signal: AbortSignal;
  readonly isOnce: boolean;
}

/**
 * How long a node must not change before it is compared: the stock controller writes addresses after it
 * removes the taint.
 */
const SETTLE_MS = 5_000;
const LOOK_MS = 1_000;

const NODE_CONTROLLER = "cloud-node-controller";
const LIFECYCLE_CONTROLLER = "cloud-node-lifecycle-controller";

async function follow({ cluster, transport, judge, tally, signal, isOnce }: CheckedCluster): Promise<void> {
  const [controller, lifecycle] = await loadControllers([NODE_CONTROLLER, LIFECYCLE_CONTROLLER]);
  if (controller === undefined || lifecycle === undefined) throw new Error("a controller is missing");
  const { labelPrefixes } = buildWatchContext(cluster);
  // Our controller deletes and taints nothing if it is not enabled.
  const lifecycles = cluster.controllers.includes(LIFECYCLE_CONTROLLER)
    ? createLifecycles({
        controller: lifecycle,
        judge,
        tally,
        settings: cluster.nodes,
        settleMs: 2 * SETTLE_MS,
        now: () => systemClock.now(),
      })
    : undefined;
  const initializations = createInitializations({
    controller,
    judge,
    tally,
    labelPrefixes,
    onIdentity: (uid, identity) => lifecycles?.identified(uid, identity),
    settleMs: isOnce ? 0 : SETTLE_MS,
    now: () => systemClock.now(),
  });
  const project = (object: unknown): ObservedNode | undefined => parseObservedNode(object, labelPrefixes);
  if (isOnce) {
    const list = await listAll(transport, formatCollectionPath(NODES), project, signal, {
      clock: systemClock,
    });
    if (list.kind === "failed") throw new Error(`nodes cannot be listed: ${list.message}`);
    for (const seen of list.items) initializations.observe(seen);
    while (!signal.aborted && (await initializations.compareDue()) > 0)
      await pause(systemClock, LOOK_MS, signal);
  } else {
    const watching = watchResource<ObservedNode | undefined>({
      transport,
      path: formatCollectionPath(NODES),
      project,
      handler: {
        applied(seen) {
          if (seen === undefined) return;
          initializations.observe(seen);
          lifecycles?.seen(seen.node);
        },
        deleted({ uid }) {
          initializations.forget(uid);
          lifecycles?.gone(uid);
        },
        restarted: () => undefined,
        note: () => undefined,
      },
      clock: systemClock,
      random: Math.random,
      signal,
    });
    while (!signal.aborted) {
      await initializations.compareDue();
      await lifecycles?.compareDue();
      await pause(systemClock, LOOK_MS, signal);
    }
    await watching;
    await initializations.compareDue();
    lifecycles?.end();
  }
  initializations.end();
}

function writeSummary(tally: Tally, write: Write): string {
  const lines = tally.summary();
  if (tally.nodes === 0) {
    const message = `nothing was compared: no node was initialized by another controller meanwhile${
      lines.length > 1 ? ` (${lines.slice(1).join("; ")})` : ""
    }; let one join, or leave --once or --for out`;
    throw new ConfigurationError([{ name: "--check", message }]);
  }
  for (const line of lines.slice(1)) write(line);
  const [summary = ""] = lines;
  if (tally.differences > 0) throw new ChecksFailedError(summary);
  return summary;
}

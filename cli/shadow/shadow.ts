import { FoundFaults } from "#cli/clusters.ts";
import { ConfigurationError, type ConfigurationFault } from "#cli/configuration-error.ts";
import { endingSignal } from "#cli/ending-signal.ts";
import { type ActOnCluster, actOnClusters } from "#cli/every-cluster.ts";
import { findOthers } from "#cli/find-others.ts";
import type { ReachableCluster, ReachFlags } from "#cli/reach-cluster.ts";
import { type DurationRange, readDuration } from "#cli/read-duration.ts";
import { createInitializations } from "#cli/shadow/initializations.ts";
import { createJudge } from "#cli/shadow/judge.ts";
import { createLifecycles } from "#cli/shadow/lifecycles.ts";
import { createTally, type Tally } from "#cli/shadow/tally.ts";
import { loadCloud } from "#clouds/kinds.ts";
import { type Cluster, watchContextOf } from "#config/cluster.ts";
import { collectionPath, NODES } from "#core/resources/resource.ts";
import { DIFFERENCE_CODES, type Ignored, parseIgnored } from "#core/shadow/difference.ts";
import { type SeenNode, seenNode } from "#core/shadow/seen-node.ts";
import { shown } from "#core/shown-text.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";
import { watchResource } from "#kube/follow/watch.ts";

/** The flags of `shadow`, as typed. */
export interface ShadowFlags extends ReachFlags {
  /** How long it watches; until a signal without it. */
  readonly for?: string | undefined;
  readonly once?: boolean | undefined;
  readonly ignore?: readonly string[] | undefined;
  /** All clusters of the home. */
  readonly all?: boolean | undefined;
}

type Write = (line: string) => void;

/**
 * Compares what another cloud-controller-manager does in a cluster with what this one would have done, and writes nothing there.
 * Throws `FoundFaults` where there is a difference, and `ConfigurationError` where there is nobody to compare with, or nothing. With
 * `all` it compares in every cluster, and writes a summary.
 */
export async function shadow(name: string | undefined, flags: ShadowFlags, write: Write): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const ignored = (flags.ignore ?? []).flatMap((text) => readIgnored(text, faults));
  const forMs = readFor(flags, faults);
  if (flags.all === true && flags.once !== true && flags.for === undefined)
    faults.push({ name: "--all", message: "needs --once, or --for with how long each cluster is watched" });
  if (faults.length > 0) throw new ConfigurationError(faults);
  const act: ActOnCluster = (reached, tell) => compare({ reached, flags, ignored, forMs, write: tell });
  return actOnClusters(name, flags, act, { write });
}

interface Compared {
  readonly reached: ReachableCluster;
  readonly flags: ShadowFlags;
  readonly ignored: readonly Ignored[];
  readonly forMs: number | undefined;
  readonly write: Write;
}

/** Resolves with what it came to, in one line. */
async function compare({ reached, flags, ignored, forMs, write }: Compared): Promise<string> {
  const { cluster } = reached;
  const ending = endingSignal(flags.once === true ? undefined : forMs);
  try {
    const transport = await reached.api("relay");
    const others = await findOthers(cluster, transport, ending.signal, write);
    if (others.length === 0) refuseAlone(cluster);
    const cloud = await loadCloud(cluster.cloud, { clusterName: cluster.name });
    try {
      const tally = createTally(ignored, write);
      const judge = createJudge(cluster, cloud);
      await follow({ cluster, transport, judge, tally, signal: ending.signal, isOnce: flags.once === true });
      return conclude(tally, write);
    } finally {
      await cloud.close();
    }
  } finally {
    ending.stop();
  }
}

function readIgnored(text: string, faults: ConfigurationFault[]): readonly Ignored[] {
  const ignored = parseIgnored(text);
  if (ignored !== undefined) return [ignored];
  const message = `"${shown(text)}" is no code of a difference; there are ${DIFFERENCE_CODES.join(", ")}, each alone or as CODE:LABEL`;
  faults.push({ name: "--ignore", message });
  return [];
}

function readFor(flags: ShadowFlags, faults: ConfigurationFault[]): number | undefined {
  if (flags.for === undefined) return undefined;
  if (flags.once === true)
    faults.push({ name: "--for", message: "has no place beside --once, which watches nothing" });
  const seconds = readDuration("--for", flags.for, FOR, faults);
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** A week. */
const FOR: DurationRange = { from: 1, to: 604_800, words: "1s to 168h", examples: "10m, 90s or 1h" };

/** Without somebody to compare with a shadow says nothing. */
function refuseAlone({ name }: Cluster): never {
  const message =
    "no other cloud-controller-manager shows here: none has written to a node, sent an Event or holds its Lease; a shadow compares with one that is at work";
  throw new ConfigurationError([{ name: `cluster ${name}`, message }]);
}

interface Followed {
  readonly cluster: Cluster;
  readonly transport: Transport;
  readonly judge: ReturnType<typeof createJudge>;
  readonly tally: Tally;
  readonly signal: AbortSignal;
  readonly isOnce: boolean;
}

/** How long a node must not change before it is compared: the stock controller writes addresses after it took the taint. */
const SETTLE_MS = 5_000;
const LOOK_MS = 1_000;

const NODE_CONTROLLER = "cloud-node-controller";
const LIFECYCLE_CONTROLLER = "cloud-node-lifecycle-controller";

async function follow({ cluster, transport, judge, tally, signal, isOnce }: Followed): Promise<void> {
  const [controller, lifecycle] = await loadControllers([NODE_CONTROLLER, LIFECYCLE_CONTROLLER]);
  if (controller === undefined || lifecycle === undefined) throw new Error("a controller is missing");
  const { labelPrefixes } = watchContextOf(cluster);
  // Ours deletes and marks nothing where it is not on.
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
  const project = (object: unknown): SeenNode | undefined => seenNode(object, labelPrefixes);
  if (isOnce) {
    const list = await listAll(transport, collectionPath(NODES), project, signal, { clock: systemClock });
    if (list.kind === "failed") throw new Error(`nodes cannot be listed: ${list.message}`);
    for (const seen of list.items) initializations.seen(seen);
    while (!signal.aborted && (await initializations.compareDue()) > 0)
      await pause(systemClock, LOOK_MS, signal);
  } else {
    const watching = watchResource<SeenNode | undefined>({
      transport,
      path: collectionPath(NODES),
      project,
      handler: {
        applied(seen) {
          if (seen === undefined) return;
          initializations.seen(seen);
          lifecycles?.seen(seen.node);
        },
        deleted({ uid }) {
          initializations.gone(uid);
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

function conclude(tally: Tally, write: Write): string {
  const lines = tally.summary();
  if (tally.nodes === 0) {
    const message = `nothing was compared: no node was initialized by another controller meanwhile${
      lines.length > 1 ? ` (${lines.slice(1).join("; ")})` : ""
    }; let one join, or leave --once or --for out`;
    throw new ConfigurationError([{ name: "shadow", message }]);
  }
  for (const line of lines.slice(1)) write(line);
  const [summary = ""] = lines;
  if (tally.differences > 0) throw new FoundFaults(summary);
  return summary;
}

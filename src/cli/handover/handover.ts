import { ChecksFailedError } from "#cli/clusters/clusters.ts";
import { type ActOnCluster, actOnClusters } from "#cli/clusters/every-cluster.ts";
import type { ReachableCluster, ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { ConfigurationError } from "#cli/configuration-error.ts";
import { type Direction, formatHandover, judgeHandover } from "#cli/handover/handover-result.ts";
import {
  describeNodeSecurityGroups,
  describeServicesBeyondLimit,
  findOthers,
  findSharedWork,
} from "#cli/handover/one-at-a-time.ts";
import { type OurSide, planOurSide } from "#cli/handover/our-side.ts";
import { watchHandover } from "#cli/handover/watch-handover.ts";
import { createEndingSignal } from "#cli/process.ts";
import { type Cluster, selectSettings } from "#config/cluster.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { type DurationRange, readDuration } from "#core/flags.ts";
import { formatRemainingFlag, listHandedOver, listOneAtATime } from "#core/handover.ts";
import { formatCollectionPath, SERVICES } from "#core/resources/resource.ts";
import type { SecondCcm } from "#core/second-ccm.ts";
import { needsLoadBalancer } from "#core/service/needs-work.ts";
import { getMaxLoadBalancers } from "#core/service/settings.ts";
import { parseService } from "#core/service/snapshot.ts";
import type { Transport } from "#kube/client/transport.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { listAll } from "#kube/follow/list.ts";

/** The flags of `handover` and `handback`, as typed. */
export interface HandoverFlags extends ReachFlags {
  /** The duration of the verification; a minute without it. */
  readonly for?: string | undefined;
  /** Prints the plan only. */
  readonly dryRun?: boolean | undefined;
  /**
   * Continues although the other controller is not seen (hand-back), or may still run what must not run
   * twice.
   */
  readonly anyway?: boolean | undefined;
  /** Selects all clusters of the registry. */
  readonly all?: boolean | undefined;
}

type Write = (line: string) => void;

/**
 * Hands the nodes of one cluster over to this controller, or back. It prints the plan, changes our side,
 * prints what to change on the other side, and watches that a controller looks after every node.
 *
 * If it is interrupted, one or both controllers are at work; the same command continues from there. With
 * `all` it does so in every cluster, starts no further one after a node was left without a controller, and
 * prints a summary. Throws `ChecksFailedError` if something remains to be done.
 */
export async function runHandover(
  direction: Direction,
  name: string | undefined,
  flags: HandoverFlags,
  write: Write,
): Promise<void> {
  const forMs = readFor(flags.for ?? "60s");
  const act: ActOnCluster = (reached, tell, fleet) =>
    handOver({ direction, reached, flags, forMs, write: tell, onLeftUndone: fleet.halt });
  return actOnClusters(name, flags, act, { write, noCloud: true });
}

interface OneHandover {
  readonly direction: Direction;
  readonly reached: ReachableCluster;
  readonly flags: HandoverFlags;
  readonly forMs: number;
  readonly write: Write;
  /** Called if our side was changed and the verification failed. */
  readonly onLeftUndone: () => void;
}

/** Resolves to the result in one line. */
async function handOver({
  direction,
  reached,
  flags,
  forMs,
  write,
  onLeftUndone,
}: OneHandover): Promise<string> {
  const { cluster } = reached;
  const transport = await reached.api("relay");
  const others = await findOthers(cluster, transport, AbortSignal.timeout(READ_TIMEOUT_MS), write);
  if (others.length === 0) write("other: no other cloud-controller-manager shows here");
  const theirFlag =
    direction === "over" ? formatRemainingFlag(selectControllers(cluster)) : "--controllers=*";
  const ours = await planOurSide(cluster.name, flags, process.env, direction === "back");
  if (ours.kind === "refused")
    throw new ConfigurationError([{ name: `cluster ${cluster.name}`, message: ours.because }]);
  for (const line of formatPlan(direction, cluster, ours, theirFlag, forMs)) write(line);
  if (direction === "back" && flags.anyway !== true) refuseWithoutOther(others);
  const limited = direction === "over" ? await findBeyondLimit(cluster, transport) : undefined;
  if (limited !== undefined) write(limited);
  const groups = direction === "over" ? await describeNodeSecurityGroups(cluster) : undefined;
  if (groups !== undefined) write(groups);
  const waitsFor = findSharedWork(direction, cluster.controllers, others, flags.anyway === true);
  if (waitsFor !== undefined) throw new ChecksFailedError(waitsFor);
  if (flags.dryRun === true) return "dry run: nothing was changed";
  try {
    return await carryOut({ direction, transport, others, ours, theirFlag, forMs, write });
  } catch (error) {
    onLeftUndone();
    throw error;
  }
}

interface CarryOutOptions {
  readonly direction: Direction;
  readonly transport: Transport;
  readonly others: readonly SecondCcm[];
  readonly ours: OurSide;
  readonly theirFlag: string;
  readonly forMs: number;
  readonly write: Write;
}

async function carryOut({
  direction,
  transport,
  others,
  ours,
  theirFlag,
  forMs,
  write,
}: CarryOutOptions): Promise<string> {
  const ending = createEndingSignal(undefined);
  const time = setTimeout(() => ending.end(), forMs);
  let begunMs = systemClock.now();
  try {
    const seen = await watchHandover({
      transport,
      isOther: (manager) => others.some((other) => other.manager === manager),
      signal: ending.signal,
      async whenBegun() {
        if (ours.kind === "change") await ours.change();
        if (ours.kind === "change") write(`done: ours. Now theirs: ${theirFlag}`);
        write(`watching all nodes for ${forMs / 1_000} s …`);
        time.refresh();
        begunMs = systemClock.now();
      },
    });
    for (const line of formatHandover(seen)) write(line);
    const verdict = judgeHandover(direction, seen, theirFlag, begunMs + forMs / 2);
    if (ending.isBySignal())
      throw new ChecksFailedError(
        "ended before the verification; the changes stay, and two active controllers are safe for nodes",
      );
    if (verdict.kind === "faults") throw new ChecksFailedError(verdict.message);
    return verdict.message;
  } finally {
    clearTimeout(time);
    ending.stop();
  }
}

function formatPlan(
  direction: Direction,
  cluster: Cluster,
  ours: OurSide & { readonly plan?: string },
  theirFlag: string,
  forMs: number,
): readonly string[] {
  const plan = "plan" in ours ? ours.plan : "";
  const shared = listOneAtATime(cluster.controllers);
  const theirs =
    direction === "over"
      ? `theirs: restart the other controller with ${theirFlag}; those that it does not name stay there`
      : `theirs: the other controller runs with ${theirFlag}, or without the flag`;
  const steps = direction === "over" ? [`ours: ${plan}`, theirs] : [theirs, `ours: ${plan}`];
  return [
    `hand-${direction} of cluster ${cluster.name}`,
    ...[...steps, `watch that no node is left alone, for ${forMs / 1_000} s`].map(
      (step, index) => `  ${index + 1}. ${step}`,
    ),
    "Two active controllers are safe for nodes, so neither the order nor the time between matters for them.",
    ...(shared.length === 0
      ? []
      : [
          `${shared.join(", ")}: one side stops before the other starts. Until then: ${formatRemainingFlag(shared)}`,
        ]),
  ];
}

const READ_TIMEOUT_MS = 60_000;

/** Counts Services as the relay follows them; `doctor` checks what is refused on them. */
async function findBeyondLimit(cluster: Cluster, transport: Transport): Promise<string | undefined> {
  if (!cluster.controllers.includes("service-lb-controller")) return undefined;
  const project = (object: unknown): true | undefined => {
    const parsed = parseService(object);
    return parsed.kind === "object" && needsLoadBalancer(parsed.object, selectSettings(cluster))
      ? true
      : undefined;
  };
  const signal = AbortSignal.timeout(READ_TIMEOUT_MS);
  const list = await listAll(transport, formatCollectionPath(SERVICES), project, signal);
  if (list.kind !== "list")
    throw new Error(`the Services of cluster ${cluster.name} cannot be listed: ${list.message}`);
  return describeServicesBeyondLimit(list.items.length, getMaxLoadBalancers(cluster.loadBalancers));
}

/** A hand-back without another controller would leave the cluster without one. */
function refuseWithoutOther(others: readonly SecondCcm[]): void {
  if (others.some(({ isLive }) => isLive)) return;
  const message =
    "there is no controller to hand back to: no other cloud-controller-manager was seen for 10 minutes; start it with --controllers=* first, or give --anyway";
  throw new ChecksFailedError(message);
}

function selectControllers(cluster: Cluster): readonly string[] {
  const faults: ConfigurationFault[] = [];
  const controllers = listHandedOver(cluster.controllers);
  if (controllers.length === 0) {
    const message = `are ${cluster.controllers.join(", ")}: none that the other controller has, so there is nothing to hand over`;
    faults.push({ name: `cluster ${cluster.name}: controllers`, message });
  }
  if (cluster.policies.labelsOnly) {
    const message = "is true: nodes would keep their taint; take it out first";
    faults.push({ name: `cluster ${cluster.name}: policies.labelsOnly`, message });
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return controllers;
}

function readFor(text: string): number {
  const faults: ConfigurationFault[] = [];
  const seconds = readDuration("--for", text, FOR, faults);
  if (seconds === undefined) throw new ConfigurationError(faults);
  return seconds * 1_000;
}

const FOR: DurationRange = { from: 1, to: 600, words: "1s to 10m", examples: "60s or 2m" };

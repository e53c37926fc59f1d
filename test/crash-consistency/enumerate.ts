import { isDeepStrictEqual } from "node:util";
import type { LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import type { KillPoint } from "./lifeline.ts";
import type { Operation } from "./operation.ts";
import { arrange, type Disturbance, type EndState, inspect, play, type Run } from "./play.ts";
import type { Stage } from "./stage.ts";

/** The results of one operation under all disturbances. */
export interface OperationResult {
  readonly operation: string;
  /** Changes of the cloud and of the cluster in the undisturbed run; k counts up to this number. */
  readonly cloudChanges: number;
  readonly clusterChanges: number;
  /** Runs in which the intended disturbance happened. */
  readonly runs: number;
  /** Runs that ended in the end state of the undisturbed run. */
  readonly same: number;
  /** Resources at the end of any run that the undisturbed run does not leave. */
  readonly orphans: number;
  /** Foreign resources, which existed before ours, that differed at the end of a run. */
  readonly foreignTouched: number;
  readonly mostInvocations: number;
  /** Problems, each with the disturbance that caused it. */
  readonly issues: readonly string[];
}

export interface EnumerateOptions {
  /** Selects the disturbances to play; all by default. */
  readonly chosen?: (disturbance: Disturbance, index: number) => boolean;
}

/** Plays an operation undisturbed, and then with every disturbance at every k. */
export async function playDisturbances<World extends LoadBalancerWorld>(
  stage: Stage<World>,
  operation: Operation<World>,
  { chosen = () => true }: EnumerateOptions = {},
): Promise<OperationResult> {
  // A real API server rejects for a while what new roles and policies allow, and the writes of repeated
  // attempts would count.
  if (stage.point === undefined) {
    await stage.clear();
    await arrange(stage, operation);
    await play(stage, operation, { kind: "none" });
  }
  await stage.clear();
  const base = await stage.state();
  const pieces = await stage.pieces();
  await arrange(stage, operation);
  const start = await stage.point?.();
  const whole = await play(stage, operation, { kind: "none" });
  // Runs that end in the same state leave the same leftovers and pass the same audit.
  const leftOver = operation.isLeftOver === undefined ? [] : whole.end.cloud.filter(operation.isLeftOver);
  const undisturbed = [
    ...leftOver.map((thing) => `there is still ${thing}`),
    ...whole.issues,
    ...(await inspect(stage, operation, pieces)),
  ];
  const issues = undisturbed.map((issue) => `undisturbed: ${issue}`);
  const arrangeAgain = async (): Promise<void> => {
    if (start !== undefined) return start.back();
    await stage.clear();
    await arrange(stage, operation);
  };
  const isShared = (thing: string): boolean => stage.world.isShared?.(thing) === true;
  let [runs, same, orphans, foreignTouched, mostInvocations] = [0, 0, 0, 0, whole.invocations];
  for (const [index, disturbance] of disturbancesOf(whole, stage.world.hideNew !== undefined).entries()) {
    if (!chosen(disturbance, index)) continue;
    await arrangeAgain();
    const run = await play(stage, operation, disturbance).catch((error: unknown) => String(error));
    const about = formatDisturbance(disturbance);
    if (typeof run === "string") {
      issues.push(`${about}: ${run}`);
      continue;
    }
    if (run.isDisturbed) runs += 1;
    // An Event is best effort: this run has dropped it and could not be killed at it.
    else if (disturbance.kind === "killed" && disturbance.at.on === "events") continue;
    // The first k changes repeat in every run, so a k that is not reached is a gap in the table.
    else issues.push(`${about}: it did not happen`);
    const differences = differencesOf(whole.end, run.end);
    if (differences.length === 0 && run.isDisturbed) same += 1;
    orphans += run.end.cloud.filter((thing) => !whole.end.cloud.includes(thing)).length;
    foreignTouched += base.filter((thing) => !isShared(thing) && !run.end.cloud.includes(thing)).length;
    mostInvocations = Math.max(mostInvocations, run.invocations);
    issues.push(...[...differences, ...run.issues].map((issue) => `${about}: ${issue}`));
  }
  return {
    operation: operation.name,
    cloudChanges: count(whole, "cloud"),
    clusterChanges: count(whole, "cluster") + count(whole, "events"),
    runs,
    same,
    orphans,
    foreignTouched,
    mostInvocations,
    issues,
  };
}

function disturbancesOf(whole: Run, canHide: boolean): Disturbance[] {
  const disturbances: Disturbance[] = [];
  for (const on of ["cloud", "cluster", "events"] as const)
    for (let change = 1; change <= count(whole, on); change += 1)
      for (const phase of ["landed", "answered"] as const)
        disturbances.push({ kind: "killed", at: { on, change, phase } });
  for (let change = 1; change <= count(whole, "cloud"); change += 1) {
    if (canHide)
      disturbances.push({ kind: "killed", at: { on: "cloud", change, phase: "landed" }, hidden: 2 });
    for (const kind of ["throttled", "answer lost"] as const) disturbances.push({ kind, change });
  }
  if (canHide) for (const reads of [1, 3]) disturbances.push({ kind: "hidden", reads });
  for (let times = 0; times < 3; times += 1) disturbances.push({ kind: "two at once" });
  return disturbances;
}

function count({ changes }: Run, on: KillPoint["on"]): number {
  return changes.filter((change) => change.on === on).length;
}

function differencesOf(expected: EndState, end: EndState): string[] {
  const differences = [
    ...end.cloud.filter((thing) => !expected.cloud.includes(thing)).map((thing) => `there is ${thing}`),
    ...expected.cloud.filter((thing) => !end.cloud.includes(thing)).map((thing) => `there is no ${thing}`),
  ];
  if (end.cloud.length !== expected.cloud.length)
    differences.push(`there are ${end.cloud.length} things, not ${expected.cloud.length}`);
  if (!isDeepStrictEqual(end.services, expected.services))
    differences.push(`of Services ${JSON.stringify(end.services)}, not ${JSON.stringify(expected.services)}`);
  return differences;
}

/** Returns a disturbance as text for people. */
export function formatDisturbance(disturbance: Disturbance): string {
  switch (disturbance.kind) {
    case "killed": {
      const { on, change, phase } = disturbance.at;
      const hidden = disturbance.hidden === undefined ? "" : `, hidden from ${disturbance.hidden} reads`;
      const what = on === "events" ? `Event ${change}` : `change ${change} of the ${on}`;
      return `killed when ${what} was ${phase}${hidden}`;
    }
    case "throttled":
    case "answer lost":
      return `${disturbance.kind} at change ${disturbance.change} of the cloud`;
    case "hidden":
      return `what is new hidden from ${disturbance.reads} reads`;
    default:
      return disturbance.kind;
  }
}

import { formatCounted } from "#cli/format-list.ts";
import type { DeletionSettings } from "#core/node/settings.ts";
import { type BrakeWindow, countBrakeWindows, isUnderWay } from "#core/node-lifecycle/brake.ts";
import { type BrakeLimit, type DeletionState, getSecondsSince } from "#core/node-lifecycle/state.ts";

/** A summary of the deletion state at one time. */
export interface BrakeSummary {
  readonly brake: DeletionState["brake"] | undefined;
  /**
   * The deletions that count, and how many are allowed; the latter is unknown if the number of nodes is
   * unknown.
   */
  readonly tenMinutes: Window;
  readonly day: Window;
  /** Deletions that may still be under way, including those of terminated instances, which do not count. */
  readonly underWay: number;
  /** Nodes whose instance was not found, and when the first of them was first missed. */
  readonly absent: number;
  readonly absentSince: string | undefined;
  readonly written: string | undefined;
}

interface Window {
  readonly deletions: number;
  readonly most: number | undefined;
}

/** Summarizes the deletion state; `nodes` is the number of the cluster's nodes, if known. */
export function summarizeBrake(
  state: DeletionState,
  settings: DeletionSettings,
  nodes: number | undefined,
  now: Date,
): BrakeSummary {
  // The allowed number depends on the number of nodes; the number of past deletions does not.
  const { tenMinutes, day } = countBrakeWindows(state.deletions, { now, settings, nodes: nodes ?? 0 });
  const known = ({ deletions, most }: BrakeWindow): Window => ({
    deletions,
    most: nodes === undefined ? undefined : most,
  });
  const absences = Object.values(state.absences).map(({ first }) => first);
  return {
    brake: state.brake,
    tenMinutes: known(tenMinutes),
    day: known(day),
    underWay: Object.values(state.deletions).filter((each) => isUnderWay(each, now)).length,
    absent: absences.length,
    absentSince: absences.sort()[0],
    written: state.written,
  };
}

/** Formats the summary for people. */
export function formatBrake(
  summary: BrakeSummary,
  settings: DeletionSettings,
  now: Date,
  scaleIn?: string,
): readonly string[] {
  const { brake, tenMinutes, day, underWay, absent, absentSince, written } = summary;
  return [
    formatLine("brake", brake === undefined ? "not pulled" : formatPulled(brake, settings, now)),
    ...(brake === undefined ? [] : [formatLine("", formatMoment(brake))]),
    ...(settings.enabled
      ? []
      : [formatLine("deletion", "off by this cluster's configuration: no node is deleted")]),
    formatLine("10 minutes", formatWindow(tenMinutes, settings.maxPercentIn10Minutes)),
    formatLine("24 hours", formatWindow(day, settings.maxPercentIn24Hours)),
    ...(underWay === 0 ? [] : [formatLine("under way", formatCounted(underWay, "deletion"))]),
    formatLine(
      "not found",
      absent === 0
        ? "no node"
        : `${formatCounted(absent, "node")}, the first ${formatTimeAgo(absentSince ?? "", now)}`,
    ),
    ...(scaleIn === undefined ? [] : [formatLine("scale-in", scaleIn)]),
    formatLine("written", written === undefined ? "never" : formatTimeAgo(written, now)),
  ];
}

/** Formats the summary in one line, for a list of clusters. */
export function formatBrakeInOneLine(
  { brake, tenMinutes, day, absent }: BrakeSummary,
  settings: DeletionSettings,
  now: Date,
): string {
  const off = settings.enabled ? "" : "; deletion is off";
  const counts = `${tenMinutes.deletions} in 10 minutes, ${day.deletions} in 24 hours, ${absent} not found`;
  return `${brake === undefined ? "not pulled" : formatPulled(brake, settings, now)}; deletions that count: ${counts}${off}`;
}

/** Formats a line of a table with two columns. */
export function formatLine(name: string, words: string): string {
  return `${name.padEnd(12)}${words}`;
}

type Brake = NonNullable<DeletionState["brake"]>;

function formatPulled({ since, limit, nodes }: Brake, settings: DeletionSettings, now: Date): string {
  return `pulled ${formatTimeAgo(since, now)}: ${LIMITS[limit](settings)}, of ${formatCounted(nodes, "node")}`;
}

const LIMITS: Readonly<Record<BrakeLimit, (settings: DeletionSettings) => string>> = {
  TenMinutes: ({ maxPercentIn10Minutes: percent }) => `more than ${formatPercent(percent)} in 10 minutes`,
  Day: ({ maxPercentIn24Hours: percent }) => `more than ${formatPercent(percent)} in 24 hours`,
  AllNodes: () => "all nodes",
};

function formatMoment({ deleted, waiting }: Brake): string {
  return `${formatCounted(deleted, "deletion")} by then, and ${formatCounted(waiting, "node")} that would have gone too`;
}

function formatWindow({ deletions, most }: Window, percent: number): string {
  const room =
    most === undefined
      ? `at most ${formatPercent(percent)}`
      : `of at most ${most} (${formatPercent(percent)})`;
  return `${formatCounted(deletions, "deletion")} that ${deletions === 1 ? "counts" : "count"}, ${room}`;
}

function formatPercent(percent: number): string {
  return `${Math.round(percent * 10) / 10} %`;
}

/** Formats a time, and how long ago it was. */
export function formatTimeAgo(moment: string, now: Date): string {
  return `${moment} (${formatAge(getSecondsSince(moment, now))} ago)`;
}

function formatAge(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

import { counted } from "#cli/counted.ts";
import { type BrakeWindow, isUnderWay, windowsOf } from "#core/node-lifecycle/brake.ts";
import type { BrakeLimit, DeletionState } from "#core/node-lifecycle/state.ts";
import { secondsSince } from "#core/node-lifecycle/state.ts";
import type { DeletionSettings } from "#core/settings.ts";

/** What the state of deletion comes to at a moment. */
export interface BrakeSummary {
  readonly brake: DeletionState["brake"] | undefined;
  /** Deletions that count, and how many may; how many may is not known where nobody knows how many nodes there are. */
  readonly tenMinutes: Window;
  readonly day: Window;
  /** Deletions that may still be under way, those that do not count among them: of what the cloud shows as terminated. */
  readonly underWay: number;
  /** Nodes whose instance was not found, and when the first of them was missed. */
  readonly absent: number;
  readonly absentSince: string | undefined;
  readonly written: string | undefined;
}

interface Window {
  readonly deletions: number;
  readonly most: number | undefined;
}

/** Sums the state up; `nodes` are those of the cluster, where that is known. */
export function summaryOfBrake(
  state: DeletionState,
  settings: DeletionSettings,
  nodes: number | undefined,
  now: Date,
): BrakeSummary {
  // How many may be takes how many there are; what was deleted is known without.
  const { tenMinutes, day } = windowsOf(state.deletions, { now, settings, nodes: nodes ?? 0 });
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

/** The same for people. */
export function brakeLines(
  summary: BrakeSummary,
  settings: DeletionSettings,
  now: Date,
  scaleIn?: string,
): readonly string[] {
  const { brake, tenMinutes, day, underWay, absent, absentSince, written } = summary;
  return [
    line("brake", brake === undefined ? "not pulled" : pulled(brake, settings, now)),
    ...(brake === undefined ? [] : [line("", atThatMoment(brake))]),
    ...(settings.enabled
      ? []
      : [line("deletion", "off by this cluster's configuration: no node is deleted")]),
    line("10 minutes", windowOf(tenMinutes, settings.maxPercentIn10Minutes)),
    line("24 hours", windowOf(day, settings.maxPercentIn24Hours)),
    ...(underWay === 0 ? [] : [line("under way", counted(underWay, "deletion"))]),
    line(
      "not found",
      absent === 0 ? "no node" : `${counted(absent, "node")}, the first ${ago(absentSince ?? "", now)}`,
    ),
    ...(scaleIn === undefined ? [] : [line("scale-in", scaleIn)]),
    line("written", written === undefined ? "never" : ago(written, now)),
  ];
}

/** The most of it in one line, for a list of clusters. */
export function brakeInOneLine(
  { brake, tenMinutes, day, absent }: BrakeSummary,
  settings: DeletionSettings,
  now: Date,
): string {
  const off = settings.enabled ? "" : "; deletion is off";
  const counts = `${tenMinutes.deletions} in 10 minutes, ${day.deletions} in 24 hours, ${absent} not found`;
  return `${brake === undefined ? "not pulled" : pulled(brake, settings, now)}; deletions that count: ${counts}${off}`;
}

/** A line of a table of two columns. */
export function line(name: string, words: string): string {
  return `${name.padEnd(12)}${words}`;
}

type Brake = NonNullable<DeletionState["brake"]>;

function pulled({ since, limit, nodes }: Brake, settings: DeletionSettings, now: Date): string {
  return `pulled ${ago(since, now)}: ${LIMITS[limit](settings)}, of ${counted(nodes, "node")}`;
}

const LIMITS: Readonly<Record<BrakeLimit, (settings: DeletionSettings) => string>> = {
  TenMinutes: ({ maxPercentIn10Minutes: percent }) => `more than ${percentOf(percent)} in 10 minutes`,
  Day: ({ maxPercentIn24Hours: percent }) => `more than ${percentOf(percent)} in 24 hours`,
  AllNodes: () => "all nodes",
};

function atThatMoment({ deleted, waiting }: Brake): string {
  return `${counted(deleted, "deletion")} by then, and ${counted(waiting, "node")} that would have gone too`;
}

function windowOf({ deletions, most }: Window, percent: number): string {
  const room =
    most === undefined ? `at most ${percentOf(percent)}` : `of at most ${most} (${percentOf(percent)})`;
  return `${counted(deletions, "deletion")} that ${deletions === 1 ? "counts" : "count"}, ${room}`;
}

function percentOf(percent: number): string {
  return `${Math.round(percent * 10) / 10} %`;
}

/** A moment, and how long ago it was. */
export function ago(moment: string, now: Date): string {
  return `${moment} (${durationOf(secondsSince(moment, now))} ago)`;
}

function durationOf(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

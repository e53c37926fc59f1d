import { getBackOffMs } from "#core/back-off.ts";
/** Assigns clusters to workers from what has happened; every method takes the time. */
export interface Assignment {
  /** Assigns a cluster to a worker, unless it has one. */
  add(name: string, nowMs: number): void;
  remove(name: string): void;
  /**
   * Records that a worker died after its start. `culprit` is the cluster whose data it was handling, if
   * known.
   */
  died(worker: number, culprit: string | undefined, nowMs: number): void;
  /** Records that a worker ended before its start, which is no cluster's fault. */
  failedToStart(worker: number, nowMs: number): void;
  /** Does what is due: starts and ends quarantines, and dissolves workers that are not needed any more. */
  advance(nowMs: number): void;
  /**
   * Returns the workers that must exist. An id is never reused: the replacement of a dead worker has a new
   * one.
   */
  workers(): readonly PlannedWorker[];
  quarantineOf(name: string): Quarantine | undefined;
}

/** A worker that must exist. */
export interface PlannedWorker {
  readonly id: number;
  readonly clusters: readonly string[];
  /** The worker must not start before this time. */
  readonly startMs: number;
}

/** The state of a cluster's quarantine. */
export interface Quarantine {
  /** Deaths of workers that it had for itself. */
  readonly deaths: number;
  readonly isRunning: boolean;
  /** The earliest time of its next try, if it is not running. */
  readonly nextMs: number;
}

export interface AssignmentOptions {
  /** Returns the number of workers for this many clusters while all is well. */
  readonly workersFor: (clusters: number) => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Older deaths do not count, and a cluster without trouble for this long is trusted again. */
export const MEMORY_MS = 600_000;

/** Quarantined clusters that have a worker at a time; others wait for their turn. */
export const MAX_QUARANTINE_WORKERS = 4;

/** Additional workers, in which suspects are isolated. */
export const MAX_EXTRA_WORKERS = 8;

const QUARANTINE_BACK_OFF = { baseMs: 10_000, limitMs: 600_000 };

/** How often in `MEMORY_MS` the clusters of a dead worker restart at once; further restarts wait `RESTART_MS`. */
const DEATHS_AT_ONCE = 8;
/** The time from a worker's death to a restart that is not immediate. */
const RESTART_MS = 10_000;

/**
 * After this many deaths in `MEMORY_MS` with different culprits, no single cluster counts as the cause:
 * together they may be too much for one heap.
 */
const UNCLEAR_DEATHS = 3;

const START_BACK_OFF = { baseMs: 1_000, limitMs: 30_000 };

interface Group {
  readonly id: number;
  readonly clusters: Set<string>;
  readonly startMs: number;
  /** When workers died that held these clusters. */
  readonly deathsMs: readonly number[];
  /** Failed starts in a row of this group's workers. */
  readonly failedStarts: number;
  /** Whether it is beyond the ordinary number of workers. */
  readonly isExtra: boolean;
  readonly isQuarantine: boolean;
}

interface Suspicion {
  /** When the cluster was the culprit. */
  readonly strikesMs: readonly number[];
  /** When the cluster was one of several suspects. */
  readonly suspectedMs: readonly number[];
}

interface QuarantineState {
  deaths: number;
  nextMs: number;
}

/**
 * Creates an assignment that spreads clusters evenly and isolates those that kill workers.
 *
 * A death with a known culprit is a strike against that cluster alone. After a death without one, all
 * clusters of the worker are suspects: they are split over two workers, so that further deaths single one
 * out. The third death in ten minutes is treated so as well if each has another culprit. Two strikes in ten
 * minutes quarantine a cluster: it gets a worker of its own, at growing intervals if that dies too.
 */
export function createAssignment({ workersFor, random }: AssignmentOptions): Assignment {
  const groups = new Map<number, Group>();
  const suspicions = new Map<string, Suspicion>();
  const confined = new Map<string, QuarantineState>();
  let ids = 0;

  const ordinary = (): Group[] => [...groups.values()].filter(({ isQuarantine }) => !isQuarantine);
  const groupOf = (name: string): Group | undefined =>
    [...groups.values()].find(({ clusters }) => clusters.has(name));
  const count = (): number => [...groups.values()].reduce((sum, { clusters }) => sum + clusters.size, 0);

  function open(clusters: Iterable<string>, difference: Partial<Group> & Pick<Group, "startMs">): Group {
    ids += 1;
    const empty = { deathsMs: [], failedStarts: 0, isExtra: false, isQuarantine: false };
    const group = { ...empty, ...difference, id: ids, clusters: new Set(clusters) };
    groups.set(group.id, group);
    return group;
  }

  /** Puts a cluster into the least filled worker, preferably one without suspects. */
  function place(name: string, nowMs: number): void {
    const all = ordinary();
    if (all.length < workersFor(count() + 1)) {
      open([name], { startMs: nowMs });
      return;
    }
    const quiet = all.filter((group) => selectRecent(group.deathsMs, nowMs).length === 0);
    const smallest = (quiet.length > 0 ? quiet : all).reduce((one, other) =>
      other.clusters.size < one.clusters.size ? other : one,
    );
    smallest.clusters.add(name);
  }

  function close(group: Group): void {
    groups.delete(group.id);
  }

  /**
   * Returns whether this is the second strike in ten minutes. Earlier suspicion counts if the cluster was
   * alone in its worker.
   */
  function strike(name: string, wasAlone: boolean, nowMs: number): boolean {
    const before = suspicions.get(name) ?? { strikesMs: [], suspectedMs: [] };
    const strikesMs = [...selectRecent(before.strikesMs, nowMs), nowMs];
    const suspectedMs = selectRecent(before.suspectedMs, nowMs);
    suspicions.set(name, { strikesMs, suspectedMs });
    return strikesMs.length + (wasAlone ? suspectedMs.length : 0) >= 2;
  }

  /** Returns the deaths whose culprit is not isolated now. */
  function unexplained(culprit: string, deathsMs: readonly number[]): readonly number[] {
    const strikesMs = suspicions.get(culprit)?.strikesMs ?? [];
    return deathsMs.filter((deathMs) => !strikesMs.includes(deathMs));
  }

  function suspect(name: string, nowMs: number): void {
    const before = suspicions.get(name) ?? { strikesMs: [], suspectedMs: [] };
    suspicions.set(name, { ...before, suspectedMs: [...selectRecent(before.suspectedMs, nowMs), nowMs] });
  }

  /**
   * Splits the suspects over two workers; restarts one worker as before if the limit of workers is reached.
   */
  function halve(
    names: readonly string[],
    next: Pick<Group, "startMs" | "isExtra" | "deathsMs">,
    nowMs: number,
  ): void {
    for (const name of names) suspect(name, nowMs);
    const half = Math.ceil(names.length / 2);
    const mayHalve = ordinary().length + 2 <= workersFor(count() + names.length) + MAX_EXTRA_WORKERS;
    open(mayHalve ? names.slice(0, half) : names, next);
    if (mayHalve) open(names.slice(half), { ...next, isExtra: true });
  }

  function diedInQuarantine(name: string, nowMs: number): void {
    const quarantine = confined.get(name) ?? { deaths: 0, nextMs: nowMs };
    confined.set(name, quarantine);
    quarantine.deaths += 1;
    const intervalMs = getBackOffMs(QUARANTINE_BACK_OFF, quarantine.deaths - 1);
    quarantine.nextMs = nowMs + intervalMs * (0.75 + random() / 4);
  }

  function endQuarantine({ id, clusters }: Group, nowMs: number): void {
    groups.delete(id);
    for (const name of clusters) {
      confined.delete(name);
      suspicions.delete(name);
      place(name, nowMs);
    }
  }

  function beginQuarantines(nowMs: number): void {
    const running = [...groups.values()].filter(({ isQuarantine }) => isQuarantine).length;
    const due = [...confined]
      .filter(([name, { nextMs }]) => nextMs <= nowMs && groupOf(name) === undefined)
      .sort(([, one], [, other]) => one.nextMs - other.nextMs);
    for (const [name] of due.slice(0, Math.max(0, MAX_QUARANTINE_WORKERS - running)))
      open([name], { startMs: nowMs, isQuarantine: true });
  }

  /** Moves one cluster at a time, because a moved cluster is listed again. */
  function takeApartOne(nowMs: number): void {
    const quiet = ordinary().filter((group) => selectRecent(group.deathsMs, nowMs).length === 0);
    const [extra] = quiet
      .filter(({ isExtra }) => isExtra)
      .sort((one, other) => one.clusters.size - other.clusters.size);
    if (extra === undefined || quiet.length < 2 || ordinary().length <= workersFor(count())) return;
    groups.delete(extra.id);
    for (const name of extra.clusters) place(name, nowMs);
  }

  return {
    add(name, nowMs) {
      if (confined.has(name) || groupOf(name) !== undefined) return;
      place(name, nowMs);
    },
    remove(name) {
      const group = groupOf(name);
      group?.clusters.delete(name);
      if (group?.clusters.size === 0) close(group);
      suspicions.delete(name);
      confined.delete(name);
    },
    died(worker, known, nowMs) {
      const group = groups.get(worker);
      if (group === undefined) return;
      close(group);
      const names = [...group.clusters];
      if (group.isQuarantine) {
        for (const name of names) diedInQuarantine(name, nowMs);
        return;
      }
      const deathsMs = [...selectRecent(group.deathsMs, nowMs), nowMs];
      const startMs = deathsMs.length > DEATHS_AT_ONCE ? nowMs + RESTART_MS : nowMs;
      const next = { deathsMs, startMs, isExtra: group.isExtra };
      const isAlone = names.length === 1;
      const culprit =
        known !== undefined && group.clusters.has(known) ? known : isAlone ? names[0] : undefined;
      const isTwice = culprit !== undefined && strike(culprit, isAlone, nowMs);
      if (isTwice) confined.set(culprit, { deaths: 0, nextMs: nowMs });
      const rest = isTwice ? names.filter((name) => name !== culprit) : names;
      const isUnclear = culprit === undefined || (!isTwice && deathsMs.length >= UNCLEAR_DEATHS);
      if (isUnclear && rest.length > 1) halve(rest, next, nowMs);
      else if (rest.length > 0)
        open(rest, isTwice ? { ...next, deathsMs: unexplained(culprit, deathsMs) } : next);
      beginQuarantines(nowMs);
    },
    failedToStart(worker, nowMs) {
      const group = groups.get(worker);
      if (group === undefined) return;
      close(group);
      const failedStarts = group.failedStarts + 1;
      const waitMs = getBackOffMs(START_BACK_OFF, failedStarts - 1);
      open(group.clusters, { ...group, failedStarts, startMs: nowMs + waitMs * (0.75 + random() / 4) });
    },
    advance(nowMs) {
      for (const group of [...groups.values()])
        if (group.isQuarantine && nowMs - group.startMs >= MEMORY_MS) endQuarantine(group, nowMs);
      beginQuarantines(nowMs);
      takeApartOne(nowMs);
    },
    workers: () =>
      [...groups.values()].map(({ id, clusters, startMs }) => ({ id, clusters: [...clusters], startMs })),
    quarantineOf(name) {
      const quarantine = confined.get(name);
      return quarantine === undefined ? undefined : { ...quarantine, isRunning: groupOf(name) !== undefined };
    },
  };
}

function selectRecent(timesMs: readonly number[], nowMs: number): readonly number[] {
  return timesMs.filter((timeMs) => nowMs - timeMs < MEMORY_MS);
}

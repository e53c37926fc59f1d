/** Which worker a cluster is to live in, as it follows from what has happened; time is an argument of everything. */
export interface Assignment {
  /** Places a cluster that is wanted; nothing where it has its place. */
  add(name: string, nowMs: number): void;
  remove(name: string): void;
  /** A worker has ended that had begun its work; the culprit, where it is known whose data it was handling. */
  died(worker: number, culprit: string | undefined, nowMs: number): void;
  /** A worker has ended before it began, which is no cluster's doing. */
  failedToStart(worker: number, nowMs: number): void;
  /** Does what is due: begins and ends quarantines, and takes apart workers that are not needed any more. */
  advance(nowMs: number): void;
  /** The workers that there are to be. An id is never used again: what takes the place of a dead worker is another one. */
  workers(): readonly PlannedWorker[];
  quarantineOf(name: string): Quarantine | undefined;
}

/** A worker that is to be. */
export interface PlannedWorker {
  readonly id: number;
  readonly clusters: readonly string[];
  /** It is not to start before. */
  readonly startMs: number;
}

/** How it stands with a cluster that is kept alone. */
export interface Quarantine {
  /** Of workers that it had for itself. */
  readonly deaths: number;
  readonly isRunning: boolean;
  /** When it is tried again at the earliest, where it is not running. */
  readonly nextMs: number;
}

export interface AssignmentOptions {
  /** How many workers so many clusters have while nothing goes wrong. */
  readonly workersFor: (clusters: number) => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Deaths that lie further back than this count no more, and who was well for so long is as good as any other. */
export const MEMORY_MS = 600_000;

/** Clusters in quarantine that have a worker at a time; more of them wait for their turn. */
export const MAX_QUARANTINE_WORKERS = 4;

/** Workers beyond the ordinary number, in which suspects are kept apart. */
export const MAX_EXTRA_WORKERS = 8;

const QUARANTINE_BASE_MS = 10_000;
const QUARANTINE_LIMIT_MS = 600_000;

/** So often in `MEMORY_MS` the clusters of a dead worker start again at once; after that … */
const DEATHS_AT_ONCE = 8;
/** … this long after it. */
const RESTART_MS = 10_000;

/** So many deaths in `MEMORY_MS`, each somebody else's doing, are nobody's: together the clusters may be too much for one heap. */
const UNCLEAR_DEATHS = 3;

const START_BASE_MS = 1_000;
const START_LIMIT_MS = 30_000;

interface Group {
  readonly id: number;
  readonly clusters: Set<string>;
  readonly startMs: number;
  /** When workers died whose clusters these were. */
  readonly deathsMs: readonly number[];
  /** In a row, of this group's workers, before they began. */
  readonly failedStarts: number;
  /** Beyond the ordinary number. */
  readonly isExtra: boolean;
  readonly isQuarantine: boolean;
}

interface Suspicion {
  /** When it was the culprit. */
  readonly strikesMs: readonly number[];
  /** When it was one of several who may have been. */
  readonly suspectedMs: readonly number[];
}

interface Confined {
  deaths: number;
  nextMs: number;
}

/**
 * Spreads clusters evenly. A death whose culprit is known is a strike of the culprit's alone; one whose culprit is not known makes
 * suspects of all the worker's clusters, which are halved over two workers, so that further deaths single one out; so does the
 * third in ten minutes where each has another culprit. Two strikes in ten minutes put a cluster into quarantine: a worker of its own, at growing intervals when that dies too.
 */
export function createAssignment({ workersFor, random }: AssignmentOptions): Assignment {
  const groups = new Map<number, Group>();
  const suspicions = new Map<string, Suspicion>();
  const confined = new Map<string, Confined>();
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

  /** Into the least filled worker, of those above suspicion where there are any. */
  function place(name: string, nowMs: number): void {
    const all = ordinary();
    if (all.length < workersFor(count() + 1)) {
      open([name], { startMs: nowMs });
      return;
    }
    const quiet = all.filter((group) => recent(group.deathsMs, nowMs).length === 0);
    const smallest = (quiet.length > 0 ? quiet : all).reduce((one, other) =>
      other.clusters.size < one.clusters.size ? other : one,
    );
    smallest.clusters.add(name);
  }

  function close(group: Group): void {
    groups.delete(group.id);
  }

  /** Whether that makes two in ten minutes; alone in a worker, having been a suspect counts too. */
  function strike(name: string, wasAlone: boolean, nowMs: number): boolean {
    const before = suspicions.get(name) ?? { strikesMs: [], suspectedMs: [] };
    const strikesMs = [...recent(before.strikesMs, nowMs), nowMs];
    const suspectedMs = recent(before.suspectedMs, nowMs);
    suspicions.set(name, { strikesMs, suspectedMs });
    return strikesMs.length + (wasAlone ? suspectedMs.length : 0) >= 2;
  }

  /** Without those of which somebody was the culprit who is alone now. */
  function unexplained(culprit: string, deathsMs: readonly number[]): readonly number[] {
    const strikesMs = suspicions.get(culprit)?.strikesMs ?? [];
    return deathsMs.filter((deathMs) => !strikesMs.includes(deathMs));
  }

  function suspect(name: string, nowMs: number): void {
    const before = suspicions.get(name) ?? { strikesMs: [], suspectedMs: [] };
    suspicions.set(name, { ...before, suspectedMs: [...recent(before.suspectedMs, nowMs), nowMs] });
  }

  /** Each of them may have been it; one worker as before where there are as many as there may be. */
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
    const one = confined.get(name) ?? { deaths: 0, nextMs: nowMs };
    confined.set(name, one);
    one.deaths += 1;
    const intervalMs = Math.min(QUARANTINE_LIMIT_MS, QUARANTINE_BASE_MS * 2 ** (one.deaths - 1));
    one.nextMs = nowMs + intervalMs * (0.75 + random() / 4);
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

  /** One at a time: whoever moves is listed anew. */
  function takeApartOne(nowMs: number): void {
    const quiet = ordinary().filter((group) => recent(group.deathsMs, nowMs).length === 0);
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
      const deathsMs = [...recent(group.deathsMs, nowMs), nowMs];
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
      const waitMs = Math.min(START_LIMIT_MS, START_BASE_MS * 2 ** Math.min(failedStarts - 1, 20));
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
      const one = confined.get(name);
      return one === undefined ? undefined : { ...one, isRunning: groupOf(name) !== undefined };
    },
  };
}

function recent(timesMs: readonly number[], nowMs: number): readonly number[] {
  return timesMs.filter((timeMs) => nowMs - timeMs < MEMORY_MS);
}

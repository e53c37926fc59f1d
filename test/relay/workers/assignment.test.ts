import { describe, expect, test } from "vitest";
import {
  type Assignment,
  createAssignment,
  MAX_EXTRA_WORKERS,
  MAX_QUARANTINE_WORKERS,
  MEMORY_MS,
} from "#relay/workers/assignment.ts";

const perWorker = (size: number) => (clusters: number) => Math.max(1, Math.ceil(clusters / size));

function assigned(names: string, workersFor: (clusters: number) => number, random = 0): Assignment {
  const assignment = createAssignment({ workersFor, random: () => random });
  for (const name of names) assignment.add(name, 0);
  return assignment;
}

/** Formats which clusters live together, such as `ab|c`. */
const homes = (assignment: Assignment): string =>
  assignment
    .workers()
    .map(({ clusters }) => clusters.toSorted().join(""))
    .sort()
    .join("|");
const workerOf = (assignment: Assignment, name: string): number =>
  assignment.workers().find(({ clusters }) => clusters.includes(name))?.id ?? 0;

/** Kills the worker of a cluster; the culprit is given if known. */
const die = (assignment: Assignment, name: string, culprit: string | undefined, nowMs: number): void =>
  assignment.died(workerOf(assignment, name), culprit, nowMs);

describe("clusters are spread", () => {
  test.each<[string, string, (clusters: number) => number, string]>([
    ["over one worker", "abc", () => 1, "abc"],
    ["evenly over the desired number of workers", "abcde", () => 2, "ace|bd"],
    ["over more workers as they become more", "abcdef", perWorker(2), "ab|cd|ef"],
    ["and none is there twice", "abca", () => 2, "ac|b"],
  ])("%s", (_, names, workersFor, expected) => {
    expect(homes(assigned(names, workersFor))).toBe(expected);
  });

  test("a worker without clusters is removed", () => {
    const assignment = assigned("ab", () => 2);
    assignment.remove("a");
    expect(homes(assignment)).toBe("b");
  });
});

describe("after the death of a worker", () => {
  test("its clusters continue in another one at once, and all others stay", () => {
    const assignment = assigned("abcd", () => 2);
    const before = assignment.workers();
    die(assignment, "a", "a", 5);
    const after = assignment.workers();
    expect(homes(assignment)).toBe("ac|bd");
    expect(after.find(({ clusters }) => clusters.includes("b"))).toEqual(before[1]);
    expect(before.map(({ id }) => id)).not.toContain(workerOf(assignment, "a"));
    expect(after.every(({ startMs }) => startMs <= 5)).toBe(true);
  });

  test("a report about an already replaced worker has no effect", () => {
    const assignment = assigned("ab", () => 1);
    const dead = workerOf(assignment, "a");
    assignment.died(dead, undefined, 0);
    const before = assignment.workers();
    assignment.died(dead, undefined, 1);
    expect(assignment.workers()).toEqual(before);
  });

  test("before its start, its clusters are no suspects, and wait longer each time", () => {
    const assignment = assigned("ab", () => 1);
    const waits: number[] = [];
    for (let nowMs = 0; waits.length < 8; ) {
      assignment.failedToStart(workerOf(assignment, "a"), nowMs);
      const startMs = assignment.workers()[0]?.startMs ?? 0;
      waits.push(startMs - nowMs);
      nowMs = startMs;
    }
    expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500, 22_500]);
    expect(homes(assignment)).toBe("ab");
  });

  test("the clusters wait from the ninth death in ten minutes on", () => {
    const names = Array.from({ length: 1_024 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("");
    const [first = ""] = names;
    const assignment = assigned(names, () => 1);
    const waits = Array.from({ length: 9 }, (_, deaths) => {
      die(assignment, first, undefined, deaths);
      const worker = workerOf(assignment, first);
      return (assignment.workers().find(({ id }) => id === worker)?.startMs ?? 0) - deaths;
    });
    expect(waits).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 10_000]);
  });
});

describe("a death without a known culprit", () => {
  test("halves the worker's clusters repeatedly until one is alone, which is then quarantined", () => {
    const assignment = assigned("abcdefgh", () => 1);
    const steps: string[] = [];
    for (let nowMs = 0; assignment.quarantineOf("f") === undefined; nowMs += 1_000) {
      die(assignment, "f", undefined, nowMs);
      steps.push(homes(assignment));
    }
    expect(steps).toEqual(["abcd|efgh", "abcd|ef|gh", "abcd|e|f|gh", "abcd|e|f|gh"]);
    expect([..."abcdegh"].filter((name) => assignment.quarantineOf(name) !== undefined)).toEqual([]);
  });

  test("is forgotten after ten minutes, and surplus workers are dissolved one by one", () => {
    const assignment = assigned("abcd", () => 1);
    die(assignment, "a", undefined, 0);
    die(assignment, "a", undefined, 1_000);
    const steps = [-1, 0, 1_000, 1_001, 1_002].map((laterMs) => {
      assignment.advance(MEMORY_MS + laterMs);
      return homes(assignment);
    });
    // cd are trusted a second before a and b, but no trusted worker can take them yet.
    expect(steps).toEqual(["a|b|cd", "a|b|cd", "ab|cd", "abcd", "abcd"]);
  });

  test("halves no further if the limit of workers is reached", () => {
    const names = Array.from({ length: 64 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("");
    const assignment = assigned(names, () => 1);
    for (let deaths = 0; deaths < 40; deaths += 1) {
      const [largest] = assignment.workers().toSorted((a, b) => b.clusters.length - a.clusters.length);
      assignment.died(largest?.id ?? 0, undefined, deaths);
    }
    expect(assignment.workers()).toHaveLength(1 + MAX_EXTRA_WORKERS);
    expect(assignment.workers().flatMap(({ clusters }) => clusters)).toHaveLength(64);
  });
});

describe("a known culprit", () => {
  test.each<[string, number, string]>([
    ["twice in ten minutes is alone", MEMORY_MS - 1, "a|bc"],
    ["twice in more than ten minutes is not", MEMORY_MS, "abc"],
  ])("%s", (_, secondMs, expected) => {
    const assignment = assigned("abc", () => 1);
    die(assignment, "a", "a", 0);
    expect(homes(assignment)).toBe("abc");
    die(assignment, "a", "a", secondMs);
    expect(homes(assignment)).toBe(expected);
    expect(assignment.quarantineOf("a") !== undefined).toBe(expected === "a|bc");
  });

  test("does not count if the third one in a row differs: together they may be too much", () => {
    const assignment = assigned("abcd", () => 1);
    die(assignment, "a", "a", 0);
    die(assignment, "a", "b", 1);
    expect(homes(assignment)).toBe("abcd");
    die(assignment, "a", "c", 2);
    expect(homes(assignment)).toBe("ab|cd");
    expect([..."abcd"].filter((name) => assignment.quarantineOf(name) !== undefined)).toEqual([]);
  });
});

/** Quarantines these clusters at 0, in that order. */
function confined(names: string, ...culprits: readonly string[]): Assignment {
  const assignment = assigned(names, () => 1);
  for (const culprit of culprits)
    for (let strike = 0; strike < 2; strike += 1) die(assignment, culprit, culprit, 0);
  return assignment;
}

describe("in quarantine", () => {
  test("a cluster is tried again at growing intervals, up to ten minutes", () => {
    const assignment = confined("ab", "a");
    const waits: number[] = [];
    for (let nowMs = 0; waits.length < 9; ) {
      expect(assignment.quarantineOf("a")?.isRunning).toBe(true);
      die(assignment, "a", undefined, nowMs);
      const { nextMs = 0, deaths, isRunning } = assignment.quarantineOf("a") ?? {};
      expect([deaths, isRunning]).toEqual([waits.length + 1, false]);
      waits.push(nextMs - nowMs);
      assignment.advance(nextMs - 1);
      expect(homes(assignment)).toBe("b");
      nowMs = nextMs;
      assignment.advance(nowMs);
    }
    expect(waits).toEqual([7_500, 15_000, 30_000, 60_000, 120_000, 240_000, 450_000, 450_000, 450_000]);
  });

  test("a cluster's waits have jitter", () => {
    const assignment = assigned("ab", () => 1, 0.999);
    for (let deaths = 0; deaths < 3; deaths += 1) die(assignment, "a", "a", 0);
    expect(assignment.quarantineOf("a")?.nextMs).toBeCloseTo(9_997.5);
  });

  test("a cluster leaves after ten minutes without trouble", () => {
    const assignment = confined("abc", "a");
    die(assignment, "a", undefined, 0);
    assignment.advance(20_000);
    assignment.advance(20_000 + MEMORY_MS - 1);
    expect(homes(assignment)).toBe("a|bc");
    assignment.advance(20_000 + MEMORY_MS);
    expect([homes(assignment), assignment.quarantineOf("a")]).toEqual(["abc", undefined]);
    die(assignment, "a", "a", 20_000 + MEMORY_MS);
    expect(homes(assignment)).toBe("abc");
  });

  test("a limited number of clusters have workers, and the others wait for their turn", () => {
    const culprits = [..."abcdef"];
    const assignment = confined("abcdefg", ...culprits);
    expect(homes(assignment)).toBe("a|b|c|d|g");
    expect(culprits.map((name) => assignment.quarantineOf(name)?.isRunning)).toEqual(
      culprits.map((_, index) => index < MAX_QUARANTINE_WORKERS),
    );
    die(assignment, "b", undefined, 10);
    assignment.advance(10);
    expect(homes(assignment)).toBe("a|c|d|e|g");
    // b waits behind f, whose turn came earlier.
    die(assignment, "a", undefined, 20);
    assignment.advance(100_000);
    expect(homes(assignment)).toBe("c|d|e|f|g");
  });

  test("a cluster stays there if it is added again; a removed one is forgotten", () => {
    const assignment = confined("ab", "a");
    die(assignment, "a", undefined, 0);
    assignment.add("a", 1);
    expect(homes(assignment)).toBe("b");
    assignment.remove("a");
    assignment.add("a", 2);
    expect([homes(assignment), assignment.quarantineOf("a")]).toEqual(["ab", undefined]);
  });

  test("a new cluster avoids a worker of suspects while there is another", () => {
    const assignment = assigned("abc", () => 2);
    die(assignment, "b", "b", 0);
    assignment.add("d", 1);
    expect(homes(assignment)).toBe("acd|b");
  });
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { InstanceAnswer } from "#core/instance.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { checkProperty } from "#test/core/check-property.ts";
import { nodes, possibleAnswers } from "#test/core/node/arbitraries.ts";
import { LABEL_PREFIXES } from "#test/core/node/builders.ts";
import {
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  FAILED,
  getTime,
  START,
} from "#test/core/node-lifecycle/builders.ts";
import { createWorld, type Outcome } from "#test/core/node-lifecycle/world.ts";

const { nat, oneof, record, constant, constantFrom, integer } = fc;

/** The function's own end: nothing of an invocation remains. */
const INVOCATION_SECONDS = 30;

/**
 * The cloud's answer about an existing instance, in a pass that works, fails, or searches the wrong place.
 */
type View = "right" | "failing" | "wrong region" | "blind";

/** A random change in the simulated cluster. */
type Happening =
  | { readonly what: "start"; readonly decider: number; readonly view: View; readonly mask: number }
  | { readonly what: "step"; readonly pass: number; readonly steps: number }
  | { readonly what: "kill"; readonly pass: number }
  | { readonly what: "time"; readonly seconds: number };

const happenings = (views: readonly View[], seconds: fc.Arbitrary<number>): fc.Arbitrary<Happening> =>
  oneof(
    {
      weight: 3,
      arbitrary: record({
        what: constant("start" as const),
        decider: nat(2),
        view: constantFrom(...views),
        mask: nat(),
      }),
    },
    {
      weight: 8,
      arbitrary: record({
        what: constant("step" as const),
        pass: nat(2),
        steps: oneof(integer({ min: 1, max: 4 }), constant(100)),
      }),
    },
    { weight: 1, arbitrary: record({ what: constant("kill" as const), pass: nat(2) }) },
    {
      weight: 4,
      arbitrary: record({ what: constant("time" as const), seconds }),
    },
  );

interface Running {
  readonly steps: Generator<string, ReadonlyMap<string, Outcome>>;
  readonly since: number;
  readonly answers: ReadonlyMap<string, InstanceAnswer>;
}

/** A pass that ran to its end. */
interface Whole {
  readonly from: number;
  readonly to: number;
  readonly answers: ReadonlyMap<string, InstanceAnswer>;
}

/** The result: deletions with their true times, and the passes that ran to their end. */
interface History {
  readonly deletions: readonly {
    readonly uid: string;
    readonly seconds: number;
    readonly nodesBefore: number;
  }[];
  readonly started: readonly Whole[];
  readonly whole: readonly Whole[];
}

/** Lets three actors share one state; their clocks differ by up to a minute. */
function lived(
  count: number,
  skews: readonly number[],
  story: readonly Happening[],
  answerOf: (number: number, view: View) => InstanceAnswer,
): History {
  const world = createWorld(
    // All of them stopped being Ready long ago.
    Array.from({ length: count }, (_, number) =>
      buildLifecycleNode(number, { since: getTime(-90_000).toISOString() }),
    ),
  );
  const running: (Running | undefined)[] = [];
  const started: Whole[] = [];
  const whole: Whole[] = [];
  const deletions: { uid: string; seconds: number; nodesBefore: number }[] = [];
  let seconds = 0;
  const step = (place: number): void => {
    const pass = running[place];
    if (pass === undefined) return;
    const { done } = pass.steps.next();
    for (const { uid, nodesBefore } of world.deleted.slice(deletions.length))
      deletions.push({ uid, nodesBefore, seconds });
    if (done !== true) return;
    running[place] = undefined;
    whole.push({ from: pass.since, to: seconds, answers: pass.answers });
  };
  for (const happening of story) {
    switch (happening.what) {
      case "start": {
        const { decider, view, mask } = happening;
        const batch = [...world.listed.keys()].filter((_, index) => (mask >> (index % 30)) % 2 === 0);
        const answers = new Map(batch.map((uid) => [uid, answerOf(Number(uid.slice(4)), view)]));
        const now = getTime(seconds + (skews[decider] ?? 0));
        running[decider] = {
          steps: world.pass({ now, clock: `${decider}` }, answers),
          since: seconds,
          answers,
        };
        started.push({ from: seconds, to: seconds, answers });
        step(decider);
        break;
      }
      case "step":
        for (let steps = 0; steps < happening.steps; steps += 1) step(happening.pass);
        break;
      case "kill":
        running[happening.pass] = undefined;
        break;
      case "time":
        seconds += happening.seconds;
        for (const [place, pass] of running.entries())
          if (pass !== undefined && seconds - pass.since > INVOCATION_SECONDS) running[place] = undefined;
    }
  }
  return { deletions, started, whole };
}

const skews = fc.tuple(
  integer({ min: -30, max: 30 }),
  integer({ min: -30, max: 30 }),
  integer({ min: -30, max: 30 }),
);
/** Steps of time in seconds: an invocation, a grace, or a window of the brake. */
const SHORT = oneof(integer({ min: 1, max: 20 }), integer({ min: 20, max: 45 }));
const LONG = oneof(SHORT, integer({ min: 45, max: 200 }), integer({ min: 500, max: 700 }));

const story = (seconds: fc.Arbitrary<number>, ...views: readonly View[]) =>
  fc.array(happenings(views, seconds), { minLength: 20, maxLength: 200, size: "max" });

describe("for any order of changes", { timeout: 120_000 }, () => {
  test("no node with an existing instance is deleted, unless two answers prove it missing", () => {
    const answerOf = (number: number, view: View): InstanceAnswer => {
      if (view === "right") return buildFoundAnswer(number);
      return view === "failing" ? FAILED : buildNotFoundAnswer();
    };
    checkProperty(
      [integer({ min: 1, max: 12 }), skews, story(LONG, "right", "failing", "wrong region")],
      (count, skew, happened) => {
        expect(lived(count, skew, happened, answerOf).deletions).toEqual([]);
      },
    );
  });

  test("a deleted node was missing twice, a grace apart, and no complete pass found its instance between", () => {
    // An eventually consistent cloud: an instance appears in one answer and is missing in the next.
    const answerOf = (number: number, view: View): InstanceAnswer => {
      if (view === "failing") return FAILED;
      return view === "right" ? buildFoundAnswer(number) : buildNotFoundAnswer("i-control");
    };
    let deleted = 0;
    checkProperty(
      [integer({ min: 1, max: 12 }), skews, story(SHORT, "right", "failing", "blind")],
      (count, skew, happened) => {
        const { deletions, started, whole } = lived(count, skew, happened, answerOf);
        deleted += deletions.length;
        for (const { uid, seconds } of deletions) {
          const missed = started.filter(
            ({ from, answers }) => answers.get(uid)?.kind === "not-found" && from <= seconds,
          );
          const [last] = missed
            .toSorted((a, b) => b.from - a.from)
            .filter(({ from }) => seconds - from <= INVOCATION_SECONDS);
          const first = missed.filter(
            ({ from }) =>
              last !== undefined && last.from - from >= DEFAULT_SETTINGS.nodes.deletion.graceSeconds,
          );
          const hasProof = first.some(
            (miss) =>
              !whole.some(
                ({ from, to, answers }) =>
                  answers.get(uid)?.kind === "found" &&
                  // Not at the time of the invocation that missed it, which may have written later.
                  from > miss.from + INVOCATION_SECONDS &&
                  to < (last?.from ?? 0) - INVOCATION_SECONDS,
              ),
          );
          expect(hasProof).toBe(true);
        }
      },
    );
    expect(deleted).toBeGreaterThan(0);
  });

  test("the brake's limits hold with any killed actors and any clocks", () => {
    let deleted = 0;
    checkProperty([integer({ min: 1, max: 40 }), skews, story(LONG, "blind")], (count, skew, happened) => {
      const { deletions } = lived(count, skew, happened, () => buildNotFoundAnswer("i-control"));
      deleted += deletions.length;
      expect(new Set(deletions.map(({ uid }) => uid)).size).toBe(deletions.length);
      expect(deletions.length).toBeLessThan(count);
      for (const { seconds } of deletions) {
        const within = (span: number) =>
          deletions.filter((other) => other.seconds <= seconds && other.seconds > seconds - span);
        const nodesBefore = (span: number) => within(span)[0]?.nodesBefore ?? 0;
        expect(within(600).length).toBeLessThanOrEqual(Math.max(1, Math.floor(nodesBefore(600) / 5)));
        expect(within(86_400).length).toBeLessThanOrEqual(Math.floor(nodesBefore(86_400) / 3));
      }
    });
    expect(deleted).toBeGreaterThan(0);
  });
});

describe("for any node and answer", { timeout: 60_000 }, () => {
  const context = { settings: DEFAULT_SETTINGS, labelPrefixes: LABEL_PREFIXES };
  const asked = { reason: "monitor", now: START, related: {}, settings: DEFAULT_SETTINGS } as const;

  test("a node and its snapshot give equal decisions, and a node without need stays unchanged", () => {
    checkProperty([nodes, possibleAnswers], (node, answer) => {
      const snapshot = nodeLifecycleController.snapshot(node, context);
      const [whole, part] = [node, snapshot].map((object) =>
        nodeLifecycleController.decide([{ object, answer, hint: undefined }], asked),
      );
      expect(part).toEqual(whole);
      const needs = nodeLifecycleController.needsWork(node, context);
      expect(nodeLifecycleController.needsWork(snapshot, context)).toBe(needs);
      const [decision] = whole?.kind === "each" ? whole.decisions : [];
      if (!needs) expect(["unchanged", "skip"]).toContain(decision?.kind);
    });
  });
});

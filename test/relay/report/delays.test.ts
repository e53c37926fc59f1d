import { describe, expect, test } from "vitest";
import type { ApiObject, DelayHistogram } from "#core/watch.ts";
import { createDelays, type Delays, LONGEST_UNSEEN_MS, type MeasuredDelay } from "#relay/report/delays.ts";

interface Waiting extends ApiObject {
  readonly waits: boolean;
}

const common = { help: "", isWaiting: (object: ApiObject) => (object as Waiting).waits } as const;
const DELAYS: readonly DelayHistogram[] = [
  { ...common, metric: "first", counts: "first", until: "reported" },
  { ...common, metric: "each", counts: "each", until: "shown" },
];

const START_MS = Date.parse("2026-01-01T00:00:00Z");

function object(waits: boolean, creationTimestamp = "2026-01-01T00:00:00Z"): Waiting {
  return { waits, metadata: { name: "a", uid: "uid-a", resourceVersion: "1", creationTimestamp } };
}

type Step = readonly [
  atMs: number,
  step: (delays: Delays, nowMs: number) => readonly MeasuredDelay[] | undefined,
];

/** Runs the steps of an object's life and returns what was measured, by metric. */
function played(...steps: readonly Step[]): readonly (readonly [metric: string, seconds: number])[] {
  const delays = createDelays(DELAYS);
  return steps
    .flatMap(([atMs, step]) => step(delays, START_MS + atMs) ?? [])
    .map(({ metric, seconds }) => [metric, seconds] as const);
}

const shown =
  (waits: boolean, how: { created?: string; isKnown?: boolean; isLive?: boolean } = {}): Step[1] =>
  (delays, nowMs) =>
    delays.shown(
      {
        snapshot: object(waits, how.created),
        isKnown: how.isKnown ?? !(how.created || waits),
        isLive: how.isLive ?? true,
      },
      nowMs,
      new Date(nowMs),
    );
const again = shown(true, { isKnown: true });
const changed =
  (sentAtMs: number, waits = true): Step[1] =>
  (delays, nowMs) =>
    delays.changed(object(waits), START_MS + sentAtMs, nowMs);
const listed = (created: string): Step[1] => shown(true, { created, isLive: false });

const GONE: Step[1] = (delays) => {
  delays.forget("uid-a");
  return undefined;
};

describe("a delay", () => {
  test.each<[string, readonly Step[], readonly (readonly [string, number])[]]>([
    [
      "ends with what ends it: the removal when it is shown, the whole when it is reported",
      [
        [0, shown(true)],
        [400, shown(false)],
        [700, changed(50)],
      ],
      [
        ["first", 0.7],
        ["each", 0.4],
      ],
    ],
    [
      "is measured where the watch is late, by the report",
      [
        [0, shown(true)],
        [700, changed(50)],
        [9_000, shown(false)],
      ],
      [
        ["first", 0.7],
        ["each", 0.7],
      ],
    ],
    [
      "of an object that a watch brings counts from when it does, whatever its creation timestamp says",
      [
        [10_000, shown(true, { created: "1970-01-01T00:00:00Z" })],
        [10_500, shown(false)],
        [10_500, changed(10_050)],
      ],
      [
        ["first", 0.5],
        ["each", 0.5],
      ],
    ],
    [
      "of an object that a list brings counts from its creation",
      [
        [20_000, listed("2026-01-01T00:00:05Z")],
        [21_000, shown(false)],
        [21_000, changed(20_050)],
      ],
      [
        ["first", 16],
        ["each", 16],
      ],
    ],
    ...(
      [
        [
          "before the relay can have been away for so little",
          "1970-01-01T00:00:00Z",
          LONGEST_UNSEEN_MS + 1_000,
        ],
        ["in the future", "2030-01-01T00:00:00Z", 1_000],
        ["at no time", "never", 1_000],
      ] as const
    ).map(
      ([when, created, expectedMs]): [string, readonly Step[], readonly (readonly [string, number])[]] => [
        `of an object that a list says was created ${when} is bounded`,
        [
          [20_000, listed(created)],
          [21_000, shown(false)],
          [21_000, changed(20_050)],
        ],
        [
          ["first", expectedMs / 1_000],
          ["each", expectedMs / 1_000],
        ],
      ],
    ),
    [
      "of an object that waits again counts from then, and not as a first one",
      [
        [0, shown(true)],
        [500, shown(false)],
        [500, changed(50)],
        [9_000_000, again],
        [9_002_000, shown(false)],
        [9_002_500, changed(9_000_050)],
      ],
      [
        ["first", 0.5],
        ["each", 0.5],
        ["each", 2],
      ],
    ],
    [
      "of an object that did not wait when it was met is no first one",
      [
        [0, shown(false, { isKnown: false })],
        [5_000, again],
        [6_000, shown(false)],
        [6_000, changed(5_050)],
      ],
      [["each", 1]],
    ],
    [
      "continues while the object changes and waits",
      [
        [0, shown(true)],
        [2_000, again],
        [3_000, shown(false)],
        [3_000, changed(2_050)],
      ],
      [
        ["first", 3],
        ["each", 3],
      ],
    ],
    [
      "that another writer ended is not ours",
      [
        [0, shown(true)],
        [500, shown(false)],
        [900, changed(600, false)],
      ],
      [],
    ],
    [
      "is not ended by an earlier invocation",
      [
        [0, shown(true)],
        [500, shown(false)],
        [600, again],
        [700, changed(50)],
        [800, shown(false)],
      ],
      [],
    ],
    [
      "of a deleted object is not measured",
      [
        [0, shown(true)],
        [100, GONE],
        [500, changed(50)],
      ],
      [],
    ],
  ])("%s", (_, steps, expected) => {
    expect(played(...steps)).toEqual(expected);
  });
});

import { expect, test } from "vitest";
import type { WatchNote } from "#kube/follow/watch-handler.ts";
import { createIssueTracker } from "#relay/report/issue-tracker.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const failed = (code: "Unavailable" | "Forbidden" | "ClusterLimited"): WatchNote => ({
  kind: "failed",
  code,
  message: "",
  delayMs: 1_000,
});
const OPENED: WatchNote = { kind: "opened" };
const ENDED: WatchNote = { kind: "ended", cause: "ended", events: 0, durationMs: 0 };
const LISTED: WatchNote = { kind: "listed", cause: "start", objects: 0, durationMs: 0, restarted: false };
const limited = (limit: "objects" | "pageBytes"): WatchNote => ({ kind: "limited", limit, message: "" });

test.each<[string, readonly WatchNote[], object[]]>([
  ["is opened for the first time", [LISTED, OPENED], []],
  ["is opened again as it should be", [OPENED, ENDED, OPENED], []],
  ["failed once", [OPENED, failed("Forbidden"), OPENED], [{ code: "Forbidden", durationMs: 1_000 }]],
  [
    "failed for long: since the first failure, with the last one's code",
    [failed("Forbidden"), failed("Unavailable"), LISTED, OPENED],
    [{ code: "Unavailable", durationMs: 3_000 }],
  ],
  ["is opened once more", [failed("Forbidden"), OPENED, OPENED], [{ code: "Forbidden", durationMs: 1_000 }]],
  [
    "was limited, and is within the limit",
    [limited("objects"), limited("objects"), { kind: "within-limits", limits: ["objects"] }],
    [{ limit: "objects", durationMs: 2_000 }],
  ],
  [
    "failed because of a limit is reported by the limit's name",
    [
      limited("pageBytes"),
      failed("ClusterLimited"),
      OPENED,
      { kind: "within-limits", limits: ["pageBytes", "objects"] },
    ],
    [{ limit: "pageBytes", durationMs: 3_000 }],
  ],
])("a resource that %s", async (_, notes, expected) => {
  const clock = createManualClock();
  const troubles = createIssueTracker(clock);
  const told: object[] = [];
  for (const note of notes) {
    told.push(...troubles.after({ kind: "watch", resource: "nodes", note }));
    troubles.after({ kind: "watch", resource: "others", note: OPENED });
    await clock.advance(1_000);
  }
  expect(told).toEqual(expected.map((each) => ({ kind: "recovered", resource: "nodes", ...each })));
});

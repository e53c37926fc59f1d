import { describe, expect, test } from "vitest";
import type { ApiObject } from "#core/watch.ts";
import { createEntry, type Entry, isNewDeletion, type Resync, type Task } from "#relay/work/entry.ts";
import {
  applyFailure,
  applyRefusal,
  type InFlightEntry,
  type SettlementContext,
  startTask,
} from "#relay/work/in-flight.ts";
import { createResync, planDriftResync, requestResync } from "#relay/work/resync.ts";
import { settleEntry } from "#relay/work/settle.ts";
import { buildKey, buildNode, buildRetrySettlement, WAITING } from "#test/relay/work/pending-builders.ts";

const SETTLING: SettlementContext = {
  nowMs: 1_000,
  draw: 0,
  rules: { resyncPolicy: { whenRelatedChange: true }, random: () => 0 },
};
const NODE = buildNode(1, {}) as ApiObject;
const FOR_RELATED: Resync = { ...createResync(NODE, 0), reason: "watch" };

/** Sends a task of an object without history at 0. */
function send(task: Task, entry: Entry = createEntry(buildKey(1), undefined)): InFlightEntry {
  return startTask(entry, task, 1, 0, 0) as InFlightEntry;
}

describe("a complete resync that is planned while one for related objects is in flight", () => {
  const planned: readonly (readonly [string, (entry: InFlightEntry) => Entry])[] = [
    ["by request", (entry) => requestResync(entry, NODE, 60_000)],
    [
      "because of drift",
      (entry) => ({
        ...entry,
        phase: { ...entry.phase, next: planDriftResync(undefined, NODE, 0, 500) },
      }),
    ],
  ];

  test.each(planned)("%s: is due at once after a refusal", (_, plan) => {
    const { phase } = applyRefusal(plan(send(FOR_RELATED)) as InFlightEntry);
    expect(phase).toMatchObject({ kind: "due", next: { queue: "look", reason: "refresh", dueMs: 0 } });
  });

  test.each(planned)("%s: comes with the retry of a failed one", (_, plan) => {
    const { phase } = applyFailure(plan(send(FOR_RELATED)) as InFlightEntry, 0, SETTLING);
    expect(phase).toMatchObject({ kind: "due", next: { reason: "refresh", wait: "failed" } });
    expect(phase.next?.dueMs).toBeLessThan(2_000);
  });
});

test.each([
  ["fails", (entry: InFlightEntry) => applyFailure(entry, 0, SETTLING)],
  ["asks for a retry", (entry: InFlightEntry) => settleEntry(entry, buildRetrySettlement(5), SETTLING)],
])("a complete resync that %s stays complete if related objects change meanwhile", (_, settle) => {
  const sent = send(createResync(NODE, 0));
  const { phase } = settle({ ...sent, phase: { ...sent.phase, next: { ...FOR_RELATED, dueMs: 900 } } });
  expect(phase).toMatchObject({ kind: "due", next: { reason: "refresh", dueMs: 900 } });
});

describe("a deletion whose invocation is refused", () => {
  const snapshot = buildNode(2, {
    ...WAITING,
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
  }) as ApiObject;
  const work: Task = {
    queue: "work",
    snapshot,
    dueMs: 0,
    earliestMs: 0,
    wait: undefined,
    fingerprint: undefined,
    tried: undefined,
    demand: undefined,
    mayBeDone: false,
    undoneBy: undefined,
  };

  test("is still new", () => {
    const sent = send(work);
    expect(isNewDeletion(sent.history, snapshot)).toBe(false);
    expect(isNewDeletion(applyRefusal(sent).history, snapshot)).toBe(true);
  });

  test("is not new if an earlier invocation carried it", () => {
    const tried = applyFailure(send(work), 0, SETTLING);
    expect(isNewDeletion(applyRefusal(send(work, tried)).history, snapshot)).toBe(false);
  });
});

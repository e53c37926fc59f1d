import fc from "fast-check";
import { expect, test } from "vitest";
import { createSchedule } from "#relay/work/entries.ts";
import { SEED } from "#test/seed.ts";

test("due keys are returned earliest first, and once", () => {
  const schedule = createSchedule();
  for (const [key, atMs] of [
    ["c", 30],
    ["a", 10],
    ["b", 20],
    ["d", 40],
  ] as const)
    schedule.set(key, atMs);
  expect([schedule.due(30), schedule.due(30), schedule.nextMs()]).toEqual([["a", "b", "c"], [], 40]);
});

test("it behaves like a sorted list for any sequence of operations", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e");
  const atMs = fc.integer({ min: 0, max: 100 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), key, atMs }),
    fc.record({ kind: fc.constant("delete" as const), key, atMs }),
    fc.record({ kind: fc.constant("due" as const), key, atMs }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const schedule = createSchedule();
      const model = new Map<string, number>();
      for (const each of steps) {
        if (each.kind === "set") {
          schedule.set(each.key, each.atMs);
          model.set(each.key, each.atMs);
        } else if (each.kind === "delete") {
          schedule.delete(each.key);
          model.delete(each.key);
        } else {
          const due = [...model].filter(([, time]) => time <= each.atMs).map(([name]) => name);
          expect([...schedule.due(each.atMs)].sort()).toEqual(due.sort());
          for (const name of due) model.delete(name);
        }
        expect(schedule.nextMs()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
      }
    }),
    { seed: SEED },
  );
});

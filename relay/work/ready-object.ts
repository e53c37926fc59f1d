import type { ObjectHint } from "#core/event.ts";
import { buildConflictHint } from "#relay/work/conflict-detection.ts";
import type { Entry, EntryHistory, Task } from "#relay/work/entry.ts";
import type { ReadyObject } from "#relay/work/types.ts";

/** Returns what is sent of an entry at a time, in milliseconds. */
export function toReadyObject(
  { uid, namespace, name, history }: Entry,
  task: Task,
  sinceMs: number,
  nowMs: number,
): ReadyObject {
  const again = task.queue === "work" && task.wait !== undefined;
  const ready = {
    uid,
    namespace,
    name,
    snapshot: task.snapshot,
    again,
    sinceMs,
    hint: buildHint(history, task, nowMs),
  };
  return task.queue === "look" ? { ...ready, resyncReason: task.reason } : ready;
}

function buildHint(past: EntryHistory, task: Task, nowMs: number): ObjectHint | undefined {
  const hint: ObjectHint = {
    ...(task.queue === "work" ? buildConflictHint(past, task) : {}),
    ...(past.reportedWarnings === undefined ? {} : { said: [...past.reportedWarnings] }),
    ...(past.candidates === undefined ? {} : { candidates: getCandidates(past.candidates, nowMs) }),
  };
  return Object.keys(hint).length === 0 ? undefined : hint;
}

function getCandidates(candidates: ReadonlyMap<string, number>, nowMs: number): ObjectHint["candidates"] {
  return [...candidates].map(([id, sinceMs]) => ({ id, seconds: Math.max(0, nowMs - sinceMs) / 1_000 }));
}

import type { ObjectHint } from "#core/event.ts";
import type { Entry, Past, Task } from "#relay/work/entry.ts";
import type { ReadyObject } from "#relay/work/pending.ts";
import { undoneByHint } from "#relay/work/undoing.ts";

/** What is sent of an entry at a time, in milliseconds. */
export function readyObject(
  { uid, namespace, name, past }: Entry,
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
    hint: hintOf(past, task, nowMs),
  };
  return task.queue === "look" ? { ...ready, look: task.reason } : ready;
}

function hintOf(past: Past, task: Task, nowMs: number): ObjectHint | undefined {
  const hint: ObjectHint = {
    ...(task.queue === "work" ? undoneByHint(past, task) : {}),
    ...(past.said === undefined ? {} : { said: [...past.said] }),
    ...(past.candidates === undefined ? {} : { candidates: candidatesAt(past.candidates, nowMs) }),
  };
  return Object.keys(hint).length === 0 ? undefined : hint;
}

function candidatesAt(candidates: ReadonlyMap<string, number>, nowMs: number): ObjectHint["candidates"] {
  return [...candidates].map(([id, sinceMs]) => ({ id, seconds: Math.max(0, nowMs - sinceMs) / 1_000 }));
}

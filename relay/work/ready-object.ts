import type { ObjectHint } from "#core/event.ts";
import type { Entry, Past, Task } from "#relay/work/entry.ts";
import type { ReadyObject } from "#relay/work/pending.ts";
import { undoneByHint } from "#relay/work/undoing.ts";

/** What is sent of an entry. */
export function readyObject({ uid, namespace, name, past }: Entry, task: Task, sinceMs: number): ReadyObject {
  const again = task.queue === "work" && task.wait !== undefined;
  const ready = { uid, namespace, name, snapshot: task.snapshot, again, sinceMs, hint: hintOf(past, task) };
  return task.queue === "look" ? { ...ready, look: task.reason } : ready;
}

function hintOf(past: Past, task: Task): ObjectHint | undefined {
  const hint: ObjectHint = {
    ...(task.queue === "work" ? undoneByHint(past, task) : {}),
    ...(past.said === undefined ? {} : { said: [...past.said] }),
  };
  return Object.keys(hint).length === 0 ? undefined : hint;
}

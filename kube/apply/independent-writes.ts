import type { DoneWrite } from "#core/controller.ts";
import type { Change, Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { ApplyContext, CarryOutResult, Progress } from "#kube/apply/context.ts";
import { act, guard, type SentWrite, send } from "#kube/apply/steps.ts";
import { DEADLINE_REACHED } from "#kube/apply/stop.ts";
import { createAbortPatience } from "#kube/client/on-abort.ts";
import { createSemaphore, type Semaphore } from "#kube/client/semaphore.ts";

/** Actions of one change in flight: the account's quota also serves others. */
const MAX_ACTIONS = 8;

/**
 * Sends the writes of a change concurrently, each independent of the others; failures are part of the result.
 * The object is read once before the first cloud action. If it has changed, nothing is sent.
 */
export async function sendIndependentWrites(
  change: Change,
  progress: Progress,
  context: ApplyContext,
): Promise<CarryOutResult> {
  const action = change.writes.find((write) => write.on === "cloud");
  const stop = action === undefined ? undefined : await guard(action, progress, context);
  if (stop !== undefined) return { stop, done: [] };
  const actions = createSemaphore(() => MAX_ACTIONS, change.writes.length);
  const done = await Promise.all(
    change.writes.map(async (write): Promise<DoneWrite> => {
      const sent = await sendOne(write, actions, progress, context);
      if (sent.kind === "stop") return { write, result: undefined, failed: sent.stop.because };
      progress.change = change;
      return { write, result: sent.result };
    }),
  );
  return { done };
}

async function sendOne(
  write: Write,
  actions: Semaphore,
  progress: Progress,
  context: ApplyContext,
): Promise<SentWrite> {
  if (write.on === "cluster") {
    const held = await context.held(write);
    return held === undefined ? send(write, progress, context) : createHeldResult(held);
  }
  const entered = await actions.acquire(createAbortPatience(context.deadline));
  if (entered !== "entered") return { kind: "stop", stop: DEADLINE_REACHED };
  try {
    const held = await context.held(write);
    return held === undefined ? await act(write, context) : createHeldResult(held);
  } finally {
    actions.release();
  }
}

function createHeldResult(because: Reason): SentWrite {
  return { kind: "stop", stop: { kind: "skip", because } };
}

import type { DoneWrite } from "#core/controller.ts";
import type { Because, Change, Write } from "#core/decision.ts";
import type { ApplyContext, CarriedOut, Progress } from "#kube/apply/context.ts";
import { act, guard, type Sent, send } from "#kube/apply/steps.ts";
import { DEADLINE_REACHED } from "#kube/apply/stop.ts";
import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots, type Slots } from "#kube/client/slots.ts";

/** Of one change in flight: what they spend belongs to the account, and others wait for it as well. */
const MAX_ACTIONS = 8;

/**
 * Sends the writes of a change together, each whatever becomes of the others: what failed is among what is done, with why. The object
 * is read once before the first action of the cloud, and where it is not as it was read nothing is sent at all.
 */
export async function carryOutApart(
  change: Change,
  progress: Progress,
  context: ApplyContext,
): Promise<CarriedOut> {
  const action = change.writes.find((write) => write.on === "cloud");
  const stop = action === undefined ? undefined : await guard(action, progress, context);
  if (stop !== undefined) return { stop, done: [] };
  const actions = createSlots(() => MAX_ACTIONS, change.writes.length);
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
  actions: Slots,
  progress: Progress,
  context: ApplyContext,
): Promise<Sent> {
  if (write.on === "cluster") {
    const held = await context.held(write);
    return held === undefined ? send(write, progress, context) : heldBack(held);
  }
  const entered = await actions.enter(untilAborted(context.deadline));
  if (entered !== "entered") return { kind: "stop", stop: DEADLINE_REACHED };
  try {
    const held = await context.held(write);
    return held === undefined ? await act(write, context) : heldBack(held);
  } finally {
    actions.leave();
  }
}

function heldBack(because: Because): Sent {
  return { kind: "stop", stop: { kind: "skip", because } };
}

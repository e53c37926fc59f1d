import type { DoneWrite } from "#core/controller.ts";
import type { Change, Decision, Write } from "#core/decision.ts";
import { isApplied } from "#core/json-patch.ts";
import type { Reason } from "#core/reason.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import type { ApiObject } from "#core/watch.ts";
import type { ApplyContext, ApplyItem, CarryOutResult, Progress } from "#kube/apply/context.ts";
import { type AppliedObject, reportChanged, reportSettled, reportStopped } from "#kube/apply/outcome.ts";
import { act, guard, readNow, type SentWrite, send } from "#kube/apply/steps.ts";
import { type ChangePermit, DEADLINE_REACHED, type Stop } from "#kube/apply/stop.ts";
import { createSemaphore, type Semaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";

/**
 * Carries out a decision and those that follow: the next step after each change, and a new decision if the
 * object has changed. Never rejects.
 */
export async function applyDecision(item: ApplyItem, context: ApplyContext): Promise<AppliedObject> {
  const progress: Progress = {
    object: item.object,
    change: undefined,
    resourceVersion: undefined,
    complete: [],
  };
  const turn = context.newTurn();
  try {
    return await applyRounds(item, progress, turn, context);
  } catch (error) {
    const message = `a fault of serverless-ccm: ${getErrorMessage(error)}`;
    return reportStopped(
      item,
      { kind: "retry", because: { code: "Failed", message }, afterSeconds: 60 },
      progress,
      context,
    );
  } finally {
    turn.release();
  }
}

/** Limit of consecutive changes to one object; then it is retried at once. */
const MAX_ROUNDS = 6;

/** Seconds until a retry after an independent write failed and no further decision follows. */
const FAILED_WAIT_SECONDS = 5;

/** Limit of rereads of a changed object; then other objects go first. */
const MAX_READS = 4;

async function applyRounds(
  item: ApplyItem,
  progress: Progress,
  turn: ChangePermit,
  context: ApplyContext,
): Promise<AppliedObject> {
  let { decision } = item;
  let rounds = 0;
  let reads = 0;
  while (decision.kind === "change") {
    if (decision.writes.some(({ on }) => on === "cloud")) {
      const come = await turn.acquire();
      if (come === "never") return reportStopped(item, DEADLINE_REACHED, progress, context);
      // Actions for other objects may have changed what this one needs.
      const anew: Decision | undefined =
        come === "now" ? undefined : context.decide.decideNext(item.index, []);
      if (anew !== undefined) {
        decision = anew;
        continue;
      }
    }
    const change: Change = decision;
    const carry = change.independent ? sendIndependentWrites : carryOut;
    const { stop, done, refusal } = await carry(change, progress, context);
    context.decide.applySharedResult?.(item.index, done);
    const refused =
      refusal === undefined ? undefined : context.decide.decideRejected?.(item.index, refusal, done);
    if (refused !== undefined) {
      decision = refused;
    } else if (stop === undefined) {
      progress.complete = [...progress.complete, change];
      const next = context.decide.decideNext(item.index, done);
      if (next === undefined) {
        const because = done.find(({ failed }) => failed !== undefined)?.failed;
        if (because === undefined) return reportChanged(item, change, progress, context);
        return reportStopped(
          item,
          { kind: "retry", because, afterSeconds: FAILED_WAIT_SECONDS },
          progress,
          context,
        );
      }
      rounds += 1;
      const end = decideLastRound(rounds, context);
      if (next.kind === "change" && end !== undefined) return reportStopped(item, end, progress, context);
      decision = next;
    } else if (stop.kind === "conflict") {
      reads += 1;
      const fresh = await readAgain(item, progress, context);
      if (fresh.kind === "stop") return reportStopped(item, fresh.stop, progress, context);
      decision = await context.decide.decideAgain(progress.object, item.index);
      // If the answer to a write is lost, the write is sent again; the existing content is then ours.
      if (decision.kind === "unchanged" && isDone(change, progress.object)) progress.change = change;
      if (decision.kind === "change" && reads === MAX_READS)
        return reportStopped(item, stop, progress, context);
    } else return reportStopped(item, stop, progress, context);
  }
  return reportSettled(item, decision, progress, context);
}

/** Returns why there is no further round: all rounds are used, or its writes would not be sent. */
function decideLastRound(rounds: number, { deadline, halted }: ApplyContext): Stop | undefined {
  if (deadline.aborted) return DEADLINE_REACHED;
  return halted ?? (rounds === MAX_ROUNDS ? ROUNDS_EXHAUSTED : undefined);
}

const ROUNDS_EXHAUSTED: Stop = {
  kind: "retry",
  because: { code: "InProgress", message: `${MAX_ROUNDS} rounds are done, and something is left` },
  afterSeconds: 0,
};

/**
 * Sends the writes of a change in order, each only after the previous one succeeded; `stop` says why some
 * were not sent.
 */
async function carryOut(change: Change, progress: Progress, context: ApplyContext): Promise<CarryOutResult> {
  const done: DoneWrite[] = [];
  for (const write of change.writes) {
    if (write.on === "cloud") {
      const stop = await guard(write, progress, context);
      if (stop !== undefined) return { stop, done };
    }
    const held = await context.held(write);
    if (held !== undefined) return { stop: { kind: "skip", because: held }, done };
    const sent = await (write.on === "cloud" ? act(write, context) : send(write, progress, context));
    if (sent.kind === "stop") return { ...sent, done };
    progress.change = change;
    done.push({ write, result: sent.result });
  }
  return { done };
}

async function readAgain(
  { object: { metadata } }: ApplyItem,
  progress: Progress,
  context: ApplyContext,
): Promise<{ readonly kind: "read" } | { readonly kind: "stop"; readonly stop: Stop }> {
  const read = await readNow(progress.object, context);
  if (read.kind === "stop") return read;
  if (read.object.metadata.uid !== metadata.uid) {
    const because = {
      code: "Replaced",
      message: `${metadata.name} was deleted and made again since uid ${metadata.uid}`,
    };
    return { kind: "stop", stop: { kind: "skip", because } };
  }
  progress.object = read.object;
  return { kind: "read" };
}

/** Whether the object shows everything that the change writes to it. */
function isDone(change: Change, object: ApiObject): boolean {
  return change.writes.every(
    (write) => write.on === "cluster" && "patch" in write && isApplied(object, write.patch),
  );
}

/** Actions of one change in flight: the account's quota also serves others. */
const MAX_ACTIONS = 8;

/**
 * Sends the writes of a change concurrently, each independent of the others; failures are part of the result.
 * The object is read once before the first cloud action. If it has changed, nothing is sent.
 */
async function sendIndependentWrites(
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

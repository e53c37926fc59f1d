import type { ApiObject, DoneWrite } from "#core/controller.ts";
import type { Change, Decision } from "#core/decision.ts";
import { holds } from "#core/json-patch.ts";
import { messageOf } from "#core/message-of.ts";
import { carryOutApart } from "#kube/apply/carry-out-apart.ts";
import type { ApplyContext, ApplyItem, CarriedOut, Progress } from "#kube/apply/context.ts";
import { type AppliedObject, changed, settled, stopped } from "#kube/apply/outcome.ts";
import { act, guard, readNow, send } from "#kube/apply/steps.ts";
import { DEADLINE_REACHED, type Stop } from "#kube/apply/stop.ts";
import type { Turn } from "#kube/apply/turns.ts";

/**
 * Carries one decision out, and those that follow from it: what comes next after each change, and what is decided anew where
 * the object is not as it was read. Never rejects.
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
    const message = `a fault of serverless-ccm: ${messageOf(error)}`;
    return stopped(
      item,
      { kind: "retry", because: { code: "Failed", message }, afterSeconds: 60 },
      progress,
      context,
    );
  } finally {
    turn.end();
  }
}

/** A change is followed by what comes next so often in all; then the object is due again at once. */
const MAX_ROUNDS = 6;
/** After a write failed that stood for itself, where nobody decides on what is left. */
const FAILED_WAIT_SECONDS = 5;
/** An object that is not as it was read is read so often; then others have their turn first. */
const MAX_READS = 4;

async function applyRounds(
  item: ApplyItem,
  progress: Progress,
  turn: Turn,
  context: ApplyContext,
): Promise<AppliedObject> {
  let { decision } = item;
  let rounds = 0;
  let reads = 0;
  while (decision.kind === "change") {
    if (decision.writes.some(({ on }) => on === "cloud")) {
      const come = await turn.come();
      if (come === "never") return stopped(item, DEADLINE_REACHED, progress, context);
      // What was done for others meanwhile may have changed what there is to be done for this one.
      const anew: Decision | undefined = come === "now" ? undefined : context.decide.next(item.index, []);
      if (anew !== undefined) {
        decision = anew;
        continue;
      }
    }
    const change: Change = decision;
    const carry = change.independent ? carryOutApart : carryOut;
    const { stop, done, refusal } = await carry(change, progress, context);
    context.decide.told?.(item.index, done);
    const refused = refusal === undefined ? undefined : context.decide.refused?.(item.index, refusal, done);
    if (refused !== undefined) {
      decision = refused;
    } else if (stop === undefined) {
      progress.complete = [...progress.complete, change];
      const next = context.decide.next(item.index, done);
      if (next === undefined) {
        const because = done.find(({ failed }) => failed !== undefined)?.failed;
        if (because === undefined) return changed(item, change, progress, context);
        return stopped(
          item,
          { kind: "retry", because, afterSeconds: FAILED_WAIT_SECONDS },
          progress,
          context,
        );
      }
      rounds += 1;
      const end = endOfRounds(rounds, context);
      if (next.kind === "change" && end !== undefined) return stopped(item, end, progress, context);
      decision = next;
    } else if (stop.kind === "conflict") {
      reads += 1;
      const fresh = await readAgain(item, progress, context);
      if (fresh.kind === "stop") return stopped(item, fresh.stop, progress, context);
      decision = await context.decide.again(progress.object, item.index);
      // The answer to a write can be lost, and the write is sent again then: what stands there is ours.
      if (decision.kind === "unchanged" && isDone(change, progress.object)) progress.change = change;
      if (decision.kind === "change" && reads === MAX_READS) return stopped(item, stop, progress, context);
    } else return stopped(item, stop, progress, context);
  }
  return settled(item, decision, progress, context);
}

/** Why there is no other round: they are all used up, or its writes would not be sent. */
function endOfRounds(rounds: number, { deadline, halted }: ApplyContext): Stop | undefined {
  if (deadline.aborted) return DEADLINE_REACHED;
  return halted ?? (rounds === MAX_ROUNDS ? ROUNDS_EXHAUSTED : undefined);
}

const ROUNDS_EXHAUSTED: Stop = {
  kind: "retry",
  because: { code: "InProgress", message: `${MAX_ROUNDS} rounds are done, and something is left` },
  afterSeconds: 0,
};

/** Sends the writes of a change in order, each only if the one before succeeded; `stop` says why not all were sent. */
async function carryOut(change: Change, progress: Progress, context: ApplyContext): Promise<CarriedOut> {
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

/** Whether the object shows all that the change was to write on it. */
function isDone(change: Change, object: ApiObject): boolean {
  return change.writes.every(
    (write) => write.on === "cluster" && "patch" in write && holds(object, write.patch),
  );
}

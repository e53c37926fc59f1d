import type { ApiObject, RefusedAction } from "#core/controller.ts";
import type { CloudAction, ClusterWrite } from "#core/decision.ts";
import { differsAt, isSameJson, patched } from "#core/json-patch.ts";
import { keyOfName } from "#core/resources/resource.ts";
import type { ApplyContext, Progress } from "#kube/apply/context.ts";
import { guardOf } from "#kube/apply/guard.ts";
import { type ObjectRead, readObject, sendWrite } from "#kube/apply/requests.ts";
import { conflict, DEADLINE_REACHED, isUnanswered, type Stop, stopFor } from "#kube/apply/stop.ts";
import { type Answer, codeOf, type FailedAnswer } from "#kube/client/answer.ts";

/** What came of one write or read of a batch; a stop says why nothing did. */
export type Sent =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "stop"; readonly stop: Stop; readonly refusal?: RefusedAction };

/** Sends one write to the cluster. */
export async function send(write: ClusterWrite, progress: Progress, context: ApplyContext): Promise<Sent> {
  const place = progress.change === undefined ? "back" : "front";
  const answer = await throughGate(place, context, () => {
    context.usage.writes += 1;
    return sendWrite(context.transport, write, context.giveUp);
  });
  if (answer.kind === "stop") return answer;
  if (answer.kind !== "applied")
    return { kind: "stop", stop: failed(answer, progress.object, context, write.verb) };
  if (isAbout(write, progress.object, context)) {
    progress.resourceVersion = answer.metadata?.resourceVersion;
    if (write.verb === "patch") progress.object = patched(progress.object, write.patch);
  }
  return { kind: "done", result: answer.metadata };
}

/** Carries out one action of the cloud, once it is known that nothing is there that must not be. */
export async function act(action: CloudAction, context: ApplyContext): Promise<Sent> {
  if (context.deadline.aborted) return { kind: "stop", stop: DEADLINE_REACHED };
  const stop = await guardAbsence(action, context);
  if (stop !== undefined) return { kind: "stop", stop };
  if (context.act === undefined) {
    const message = `the cloud has no ${action.capability}`;
    return { kind: "stop", stop: { kind: "skip", because: { code: "NotSupported", message } } };
  }
  const answer = await context.act(action, context.deadline);
  switch (answer.kind) {
    case "done":
      return answer;
    case "conflict":
      return { kind: "stop", stop: conflict(answer.message), refusal: { action, answer } };
    case "error": {
      const because = { code: answer.code, message: answer.message };
      return {
        kind: "stop",
        stop: { kind: "retry", because, afterSeconds: ACTION_WAIT_SECONDS[answer.code] },
        refusal: { action, answer },
      };
    }
  }
}

/** Seconds after which an action that failed is tried again: soon what passes by itself, late what somebody has to mend. */
const ACTION_WAIT_SECONDS = { Throttled: 3, Unavailable: 2, Aborted: 0.5, Denied: 30, Invalid: 30 } as const;

/** An object that was read so lately is not read again before the next action. */
const GUARDED_MS = 1_000;

/** Reads the object before an action, unless that was done a moment ago; a stop where it is not what the action presupposes. */
export async function guard(
  action: CloudAction,
  progress: Progress,
  context: ApplyContext,
): Promise<Stop | undefined> {
  const nowMs = context.monotonicMs();
  if (progress.guarded?.precondition !== undefined && nowMs - progress.guarded.atMs < GUARDED_MS) {
    if (isSameJson(progress.guarded.precondition, action.precondition)) return undefined;
  }
  const read = await readNow(progress.object, context);
  if (read.kind === "stop") return read.stop;
  if (context.monotonicMs() - read.askedMs > FRESH_MS) return OUTDATED;
  const content =
    action.precondition.content === undefined ? undefined : context.controller.contentHash?.(read.object);
  const difference = guardOf({ raw: read.raw, content }, action.precondition);
  if (difference !== undefined) return conflict(difference);
  progress.guarded = { precondition: action.precondition, atMs: read.askedMs };
  return undefined;
}

/** What an answer that took longer says is too old for an action to be carried out on. */
const FRESH_MS = 5_000;
const OUTDATED: Stop = {
  kind: "retry",
  because: {
    code: "Unavailable",
    message: `the API server took more than ${FRESH_MS / 1_000} s to answer: the object may have changed since`,
  },
  afterSeconds: 2,
};

/** Looks for what must not be there: only the API server's own word that there is no such object lets the action be carried out. */
async function guardAbsence(
  { precondition: { absent } }: CloudAction,
  context: ApplyContext,
): Promise<Stop | undefined> {
  if (absent === undefined) return undefined;
  const { apiVersion, resource: name, having = [], ...at } = absent;
  const read = await throughGate("front", context, (): Promise<ObjectRead<unknown>> => {
    context.usage.reads += 1;
    const parse = (object: unknown) => ({ kind: "object", object }) as const;
    return readObject(context.transport, { apiVersion, name }, at, parse, context.giveUp);
  });
  switch (read.kind) {
    case "gone":
      return undefined;
    case "stop":
      return read.stop;
    case "object":
      if (having.some(({ path, value }) => differsAt(read.object, path, value))) return undefined;
      return { kind: "skip", because: { code: "Present", message: `${name} ${keyOfName(at)} is there` } };
    default:
      return {
        kind: "retry",
        because: { code: codeOf(read), message: read.message },
        afterSeconds: ABSENCE_WAIT_SECONDS,
      };
  }
}

/** Nobody waits for what is not carried out for want of an answer: it is cleared away some time. */
const ABSENCE_WAIT_SECONDS = 30;

/** An object as it was at some time after `askedMs`, of the monotonic clock. */
type FreshRead = Extract<ObjectRead<ApiObject>, { kind: "object" }> & { readonly askedMs: number };

/** Reads the object as it is now, in its turn. */
export async function readNow(
  { metadata }: ApiObject,
  context: ApplyContext,
): Promise<FreshRead | { readonly kind: "stop"; readonly stop: Stop }> {
  const { controller, transport } = context;
  let askedMs = 0;
  const read = await throughGate("front", context, (): Promise<ObjectRead<ApiObject>> => {
    context.usage.reads += 1;
    askedMs = context.monotonicMs();
    return readObject(
      transport,
      controller.resource,
      metadata,
      (value) => controller.parse(value),
      context.giveUp,
    );
  });
  if (read.kind === "stop") return read;
  if (read.kind === "object") return { ...read, askedMs };
  return { kind: "stop", stop: failed(read, { metadata }, context) };
}

/** A request is sent so often in all while the server throttles. */
const MAX_SENDS = 3;

/** Sends one request when it is its turn, and again where the server throttles; a stop where it may not be sent. */
async function throughGate<Result extends Answer | ObjectRead<unknown>>(
  place: "front" | "back",
  context: ApplyContext,
  sendIt: () => Promise<Result>,
): Promise<Result | { readonly kind: "stop"; readonly stop: Stop }> {
  for (let sends = 1; ; sends += 1) {
    const ticket = await context.gate.enter(sends === 1 ? place : "front", context.deadline);
    if (ticket === undefined) return { kind: "stop", stop: DEADLINE_REACHED };
    if (context.halted !== undefined) {
      ticket.done();
      return { kind: "stop", stop: context.halted };
    }
    const answer = await sendIt().catch((error: unknown) => {
      ticket.done();
      throw error;
    });
    if (answer.kind !== "throttled") {
      ticket.done();
      return answer;
    }
    context.usage.throttled += 1;
    ticket.throttled(answer.retryAfterSeconds);
    if (sends === MAX_SENDS) return answer;
  }
}

function failed(
  answer: FailedAnswer,
  object: ApiObject,
  context: ApplyContext,
  verb?: ClusterWrite["verb"],
): Stop {
  const stop = stopFor(answer, { object, resource: context.controller.resource, now: context.now, verb });
  // What was given up because the batch is halted was not given up for want of time.
  if (context.halted !== undefined && stop === DEADLINE_REACHED) return context.halted;
  if (stop.kind === "conflict") context.usage.conflicts += 1;
  if (stop.kind === "retry" && stop.halts) context.halted = stop;
  if (answer.kind === "unavailable" && isUnanswered(answer)) {
    context.unanswered += 1;
    if (context.unanswered === MAX_UNANSWERED) context.halt(stop);
  }
  return stop;
}

/** Of one batch, until the server is left alone: each keeps the whole invocation waiting for as long as a request may take. */
const MAX_UNANSWERED = 3;

/** Whether the write is to the object that was decided on, rather than to another one for its sake. */
function isAbout(
  write: ClusterWrite,
  { metadata }: ApiObject,
  { controller: { resource } }: ApplyContext,
): boolean {
  return (
    write.resource === resource.name &&
    write.apiVersion === resource.apiVersion &&
    write.name === metadata.name &&
    write.namespace === metadata.namespace
  );
}

import * as z from "zod";
import type { RejectedAction } from "#core/controller.ts";
import type { CloudAction, ClusterWrite } from "#core/decision.ts";
import { applyOperations, hasOtherValue, isSameJson } from "#core/json-patch.ts";
import { formatObjectKey } from "#core/resources/resource.ts";
import type { ApiObject } from "#core/watch.ts";
import type { ApplyContext, Progress } from "#kube/apply/context.ts";
import { type ObjectRead, readObject, sendWrite } from "#kube/apply/requests.ts";
import { createConflict, DEADLINE_REACHED, isUnanswered, type Stop, stopFor } from "#kube/apply/stop.ts";
import { type Answer, type FailedAnswer, getAnswerCode } from "#kube/client/answer.ts";

/** The result of one write or read of a batch; a stop says why nothing was sent. */
export type SentWrite =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "stop"; readonly stop: Stop; readonly refusal?: RejectedAction };

/** Sends one write to the cluster. */
export async function send(
  write: ClusterWrite,
  progress: Progress,
  context: ApplyContext,
): Promise<SentWrite> {
  const place = progress.change === undefined ? "back" : "front";
  const answer = await sendWithPermit(place, context, () => {
    context.usage.writes += 1;
    return sendWrite(context.transport, write, context.giveUp);
  });
  if (answer.kind === "stop") return answer;
  if (answer.kind !== "applied")
    return { kind: "stop", stop: toStop(answer, progress.object, context, write.verb) };
  if (isAbout(write, progress.object, context)) {
    progress.resourceVersion = answer.metadata?.resourceVersion;
    if (write.verb === "patch") progress.object = applyOperations(progress.object, write.patch);
  }
  return { kind: "done", result: answer.metadata };
}

/** Carries out one cloud action, after checking that objects which must be absent are absent. */
export async function act(action: CloudAction, context: ApplyContext): Promise<SentWrite> {
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
      return { kind: "stop", stop: createConflict(answer.message), refusal: { action, answer } };
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

/**
 * Seconds until a failed action is retried: short for temporary failures, long for those that need a person.
 */
const ACTION_WAIT_SECONDS = { Throttled: 3, Unavailable: 2, Aborted: 0.5, Denied: 30, Invalid: 30 } as const;

/** An object read this recently is not reread before the next action, in milliseconds. */
const GUARDED_MS = 1_000;

/**
 * Reads the object before an action, unless it was read recently. Returns a stop if the object does not meet
 * the precondition.
 */
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
  const difference = checkGuard({ raw: read.raw, content }, action.precondition);
  if (difference !== undefined) return createConflict(difference);
  progress.guarded = { precondition: action.precondition, atMs: read.askedMs };
  return undefined;
}

/** An answer that took longer is too old for an action. */
const FRESH_MS = 5_000;

const OUTDATED: Stop = {
  kind: "retry",
  because: {
    code: "Unavailable",
    message: `the API server took more than ${FRESH_MS / 1_000} s to answer: the object may have changed since`,
  },
  afterSeconds: 2,
};

/** Checks that an object is absent: the action proceeds only on the API server's positive "not found". */
async function guardAbsence(
  { precondition: { absent } }: CloudAction,
  context: ApplyContext,
): Promise<Stop | undefined> {
  if (absent === undefined) return undefined;
  const { apiVersion, resource: name, having = [], ...at } = absent;
  const read = await sendWithPermit("front", context, (): Promise<ObjectRead<unknown>> => {
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
      if (having.some(({ path, value }) => hasOtherValue(read.object, path, value))) return undefined;
      return {
        kind: "skip",
        because: { code: "Present", message: `${name} ${formatObjectKey(at)} is there` },
      };
    default:
      return {
        kind: "retry",
        because: { code: getAnswerCode(read), message: read.message },
        afterSeconds: ABSENCE_WAIT_SECONDS,
      };
  }
}

/** Seconds until a cleanup is retried for lack of an answer; nothing waits for it. */
const ABSENCE_WAIT_SECONDS = 30;

/** An object read at some time after `askedMs` on the monotonic clock. */
type FreshRead = Extract<ObjectRead<ApiObject>, { kind: "object" }> & { readonly askedMs: number };

/** Reads the current object under a permit. */
export async function readNow(
  { metadata }: ApiObject,
  context: ApplyContext,
): Promise<FreshRead | { readonly kind: "stop"; readonly stop: Stop }> {
  const { controller, transport } = context;
  let askedMs = 0;
  const read = await sendWithPermit("front", context, (): Promise<ObjectRead<ApiObject>> => {
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
  return { kind: "stop", stop: toStop(read, { metadata }, context) };
}

/** Limit of sends of one request while the server throttles. */
const MAX_SENDS = 3;

/**
 * Sends one request under a permit, and again while the server throttles; returns a stop if it may not be
 * sent.
 */
async function sendWithPermit<Result extends Answer | ObjectRead<unknown>>(
  place: "front" | "back",
  context: ApplyContext,
  sendIt: () => Promise<Result>,
): Promise<Result | { readonly kind: "stop"; readonly stop: Stop }> {
  for (let sends = 1; ; sends += 1) {
    const ticket = await context.concurrency.acquire(sends === 1 ? place : "front", context.deadline);
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

function toStop(
  answer: FailedAnswer,
  object: ApiObject,
  context: ApplyContext,
  verb?: ClusterWrite["verb"],
): Stop {
  const stop = stopFor(answer, { object, resource: context.controller.resource, now: context.now, verb });
  // A request abandoned because the batch is halted did not run out of time.
  if (context.halted !== undefined && stop === DEADLINE_REACHED) return context.halted;
  if (stop.kind === "conflict") context.usage.conflicts += 1;
  if (stop.kind === "retry" && stop.halts) context.halted = stop;
  if (answer.kind === "unavailable" && isUnanswered(answer)) {
    context.unanswered += 1;
    if (context.unanswered === MAX_UNANSWERED) context.halt(stop);
  }
  return stop;
}

/**
 * Unanswered requests of one batch before the server is left alone: each delays the whole invocation by the
 * request timeout.
 */
const MAX_UNANSWERED = 3;

/** Whether the write changes the object of the decision itself, not another object on its behalf. */
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

/** The fields that must equal those that the decision read. */
const Guarded = z.object({
  metadata: z.object({
    uid: z.string(),
    generation: z.int().optional(),
    deletionTimestamp: z.string().optional(),
  }),
});

/** A freshly read object with the hash of its content; `content` is absent if it was not requested. */
interface GuardedObject {
  readonly raw: unknown;
  readonly content: string | undefined;
}

/**
 * Returns why a freshly read object is not the one for which a cloud action was decided; undefined if it is.
 */
function checkGuard(
  { raw, content }: GuardedObject,
  precondition: CloudAction["precondition"],
): string | undefined {
  const parsed = Guarded.safeParse(raw);
  if (!parsed.success) return "the object has no uid by which to know it";
  const { uid, generation, deletionTimestamp } = parsed.data.metadata;
  if (uid !== precondition.uid) return `the object is another one by now, uid ${uid}`;
  if (precondition.generation !== undefined && generation !== precondition.generation) {
    return `the object is of generation ${generation} by now, not ${precondition.generation}`;
  }
  if ((deletionTimestamp !== undefined) !== precondition.deleting)
    return precondition.deleting ? "the object is not being deleted" : "the object is being deleted by now";
  return precondition.content === undefined || precondition.content === content
    ? undefined
    : "the object has another content by now than the action was decided on";
}

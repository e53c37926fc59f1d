import { answerError } from "#clouds/aws/actions/answer-error.ts";
import type { Api } from "#clouds/aws/actions/api.ts";
import { memberIds, withoutBadMembers } from "#clouds/aws/actions/bad-members.ts";
import { errorOf } from "#clouds/aws/actions/error-of.ts";
import { jsonOf } from "#clouds/aws/actions/json-of.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { CloudAction } from "#core/decision.ts";

/** Of an action, what is sent. */
export type Performed = Pick<CloudAction, "capability" | "action" | "parameters">;

/**
 * Sends an action of those that `allowed` names, once: one whose answer was lost may have been carried out, and is decided on anew
 * after a new look. Never rejects.
 *
 * Targets that AWS does not take, and for which it refuses all that were registered with them, are left out: the result names
 * them as `refused`.
 */
export async function perform(
  { capability, action, parameters }: Performed,
  allowed: ReadonlySet<string>,
  session: Session<Api>,
): Promise<ActionResult> {
  if (!allowed.has(action)) {
    const message = `${capability} has no action ${action}`;
    return { answer: { kind: "error", code: "Invalid", message }, usage: session.usage() };
  }
  const attempt = await send(action, parameters, session);
  // Nothing was done, and by now it is known how long to wait: whoever comes back later has to look at everything anew.
  const first = isThrottled(attempt) ? await send(action, parameters, session) : attempt;
  if (first.thrown === undefined) return { ...first.result, usage: session.usage() };
  const result = await sendParts(action, parameters, first, session);
  return { ...result, usage: session.usage() };
}

type Result = Omit<ActionResult, "usage">;

interface Sent {
  readonly result: Result;
  /** What the SDK threw. */
  readonly thrown: unknown;
}

/** AWS has refused it for there being too many, rather than we. */
function isThrottled({ result: { answer }, thrown }: Sent): boolean {
  return thrown !== undefined && answer.kind === "error" && answer.code === "Throttled";
}

/** So many requests in all find out which members are bad; what is not known by then is decided on anew. */
const MAX_PARTS = 8;

/** Sends a request that was refused for some of its members without those; the result is that of the whole. */
async function sendParts(
  action: string,
  parameters: Performed["parameters"],
  { result, thrown }: Sent,
  session: Session<Api>,
): Promise<Result> {
  const refused: string[] = [];
  const waiting = [...withoutBadMembers(action, parameters, thrown)];
  if (waiting.length === 0) return result;
  let done: Result = result;
  let sent = 0;
  for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
    refused.push(...part.refused);
    if (sent === MAX_PARTS) return result;
    sent += 1;
    const answered = await send(action, part.parameters, session);
    if (answered.result.answer.kind === "done") {
      done = answered.result;
      continue;
    }
    const parts = withoutBadMembers(action, part.parameters, answered.thrown);
    const ids = memberIds(action, part.parameters);
    if (parts.length > 0) waiting.push(...parts);
    else if (answered.result.answer.kind === "conflict") refused.push(...ids);
    else return answered.result;
  }
  const isAll = memberIds(action, parameters).every((id) => refused.includes(id));
  return isAll ? result : { ...done, answer: { kind: "done", result: { refused: refused.toSorted() } } };
}

async function send(
  action: string,
  parameters: Performed["parameters"],
  session: Session<Api>,
): Promise<Sent> {
  const outcome = await session.sendOnce(operationOf(action), (api, signal) =>
    api.call(action, parameters, signal),
  );
  if (outcome.kind === "ok") {
    const { $metadata } = outcome.value as { readonly $metadata?: { readonly requestId?: string } };
    const answer = { kind: "done", result: jsonOf(outcome.value) } as const;
    return { result: { answer, ...idOf($metadata?.requestId) }, thrown: undefined };
  }
  const { code, message, thrown } = outcome.fault;
  if (thrown === undefined) {
    // Nothing was thrown where nothing was sent, or where it was given up.
    const answer = { kind: "error", code: code === "Aborted" ? code : "Throttled", message } as const;
    return { result: { answer }, thrown };
  }
  const answer = answerError(action, parameters, thrown);
  return { result: { answer, ...idOf(errorOf(thrown).requestId) }, thrown };
}

/** Operations of EC2 are counted by their own names. */
function operationOf(action: string): Operation {
  return (action.startsWith("ec2:") ? action.slice("ec2:".length) : action) as Operation;
}

function idOf(requestId: string | undefined): Pick<ActionResult, "requestId"> {
  return requestId === undefined ? {} : { requestId };
}

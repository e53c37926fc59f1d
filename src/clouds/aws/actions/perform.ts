import { toActionAnswer } from "#clouds/aws/actions/answer-error.ts";
import { type Api, toJson } from "#clouds/aws/actions/api.ts";
import { parseAwsError } from "#clouds/aws/actions/parse-aws-error.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { CloudAction } from "#core/decision.ts";

/** The part of an action that is sent. */
export type SentAction = Pick<CloudAction, "capability" | "action" | "parameters">;

/**
 * Sends one of the `allowed` actions, once. If the answer is lost, the action may have happened; the next
 * observation decides. Never rejects.
 *
 * If AWS rejects a whole registration because of some targets, these are left out; the result lists them as
 * `refused`.
 */
export async function perform(
  { capability, action, parameters }: SentAction,
  allowed: ReadonlySet<string>,
  session: Session<Api>,
): Promise<ActionResult> {
  if (!allowed.has(action)) {
    const message = `${capability} has no action ${action}`;
    return { answer: { kind: "error", code: "Invalid", message }, usage: session.getUsage() };
  }
  const attempt = await send(action, parameters, session);
  // AWS did nothing, and the wait is now known. Waiting is cheaper than a later call, which would observe
  // everything again.
  const first = isThrottled(attempt) ? await send(action, parameters, session) : attempt;
  if (first.thrown === undefined) return { ...first.result, usage: session.getUsage() };
  const result = await sendParts(action, parameters, first, session);
  return { ...result, usage: session.getUsage() };
}

type Result = Omit<ActionResult, "usage">;

interface SendResult {
  readonly result: Result;
  /** What the SDK threw. */
  readonly thrown: unknown;
}

/** Whether AWS throttled the request, not our own budget. */
function isThrottled({ result: { answer }, thrown }: SendResult): boolean {
  return thrown !== undefined && answer.kind === "error" && answer.code === "Throttled";
}

/** Maximum requests to find bad members. Members still unknown after that wait for the next decision. */
const MAX_PARTS = 8;

/** Sends a request without the members for which AWS rejected it; the result covers the whole request. */
async function sendParts(
  action: string,
  parameters: SentAction["parameters"],
  { result, thrown }: SendResult,
  session: Session<Api>,
): Promise<Result> {
  const refused: string[] = [];
  const queue = [...splitBadMembers(action, parameters, thrown)];
  if (queue.length === 0) return result;
  let lastSuccess: Result = result;
  let sent = 0;
  for (let part = queue.shift(); part !== undefined; part = queue.shift()) {
    refused.push(...part.refused);
    if (sent === MAX_PARTS) return result;
    sent += 1;
    const partResult = await send(action, part.parameters, session);
    if (partResult.result.answer.kind === "done") {
      lastSuccess = partResult.result;
      continue;
    }
    const parts = splitBadMembers(action, part.parameters, partResult.thrown);
    const ids = listMemberIds(action, part.parameters);
    if (parts.length > 0) queue.push(...parts);
    else if (partResult.result.answer.kind === "conflict") refused.push(...ids);
    else return partResult.result;
  }
  const isAllRefused = listMemberIds(action, parameters).every((id) => refused.includes(id));
  return isAllRefused
    ? result
    : { ...lastSuccess, answer: { kind: "done", result: { refused: refused.toSorted() } } };
}

async function send(
  action: string,
  parameters: SentAction["parameters"],
  session: Session<Api>,
): Promise<SendResult> {
  const outcome = await session.sendOnce(getOperation(action), (api, signal) =>
    api.call(action, parameters, signal),
  );
  if (outcome.kind === "ok") {
    const { $metadata } = outcome.value as { readonly $metadata?: { readonly requestId?: string } };
    const answer = { kind: "done", result: toJson(outcome.value) } as const;
    return { result: { answer, ...pickRequestId($metadata?.requestId) }, thrown: undefined };
  }
  const { code, message, thrown } = outcome.fault;
  if (thrown === undefined) {
    // The SDK threw nothing if the request was not sent or was aborted.
    const answer = { kind: "error", code: code === "Aborted" ? code : "Throttled", message } as const;
    return { result: { answer }, thrown };
  }
  const answer = toActionAnswer(action, parameters, thrown);
  return { result: { answer, ...pickRequestId(parseAwsError(thrown).requestId) }, thrown };
}

/** EC2's operations count under their own names, without the service. */
function getOperation(action: string): Operation {
  return (action.startsWith("ec2:") ? action.slice("ec2:".length) : action) as Operation;
}

function pickRequestId(requestId: string | undefined): Pick<ActionResult, "requestId"> {
  return requestId === undefined ? {} : { requestId };
}

/**
 * The members of a request that AWS rejects as a whole because of one of them: the list's field, the id's
 * field, and the error code.
 */
interface Members {
  readonly list: string;
  readonly id: string;
  readonly code: RegExp;
}

const MEMBERS: Readonly<Record<string, Members>> = {
  "elbv2:RegisterTargets": { list: "Targets", id: "Id", code: /^InvalidTarget$/ },
  "elb:RegisterInstancesWithLoadBalancer": {
    list: "Instances",
    id: "InstanceId",
    code: /^Invalid(Instance|EndPoint)$/,
  },
};

/** A part of a rejected request, and the ids of the members that were left out. */
interface RequestPart {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
}

/**
 * Returns the requests that replace one that AWS rejected because of some members. It leaves out the members
 * that AWS named, or splits the list into halves. Empty for other errors, or if one member is left.
 */
function splitBadMembers(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
  thrown: unknown,
): readonly RequestPart[] {
  const members = MEMBERS[action];
  const { code, message } = parseAwsError(thrown);
  if (members === undefined || !members.code.test(code)) return [];
  const list = parameters[members.list] as readonly Readonly<Record<string, unknown>>[];
  const namedIds = new Set(message.match(/\bi-[0-9A-Za-z]+/g));
  const isBad = (member: Readonly<Record<string, unknown>>): boolean =>
    namedIds.has(String(member[members.id]));
  const bad = list.filter(isBad).map((member) => String(member[members.id]));
  if (bad.length > 0) {
    const goodMembers = list.filter((member) => !isBad(member));
    return goodMembers.length === 0
      ? []
      : [{ parameters: { ...parameters, [members.list]: goodMembers }, refused: bad }];
  }
  if (list.length < 2) return [];
  const half = Math.ceil(list.length / 2);
  return [list.slice(0, half), list.slice(half)].map((part) => ({
    parameters: { ...parameters, [members.list]: part },
    refused: [],
  }));
}

/** Returns the ids of all members of a request. */
function listMemberIds(action: string, parameters: Readonly<Record<string, unknown>>): string[] {
  const members = MEMBERS[action];
  if (members === undefined) return [];
  const list = parameters[members.list] as readonly Readonly<Record<string, unknown>>[];
  return list.map((member) => String(member[members.id]));
}

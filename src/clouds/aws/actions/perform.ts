import { type Api, toJson } from "#clouds/aws/actions/api.ts";
import { parseAwsError } from "#clouds/aws/errors.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Session } from "#clouds/aws/session.ts";
import type { ActionResult } from "#clouds/cloud.ts";
import type { ActionAnswer } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import { DENIED, isCodeIn, QUOTA, THROTTLED, UNAUTHORIZED } from "#platforms/aws/error-codes.ts";

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

/**
 * Converts an error of AWS, or a missing answer, to the result of an action; `parameters` are its request.
 */
export function toActionAnswer(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
  thrown: unknown,
): ActionAnswer {
  const { code, message: text, status } = parseAwsError(thrown);
  const message = `${action}: ${code === "" || code === "Error" ? "" : `${code}: `}${text}`;
  const reason = code === "" ? undefined : code;
  const buildError = (code: Extract<ActionAnswer, { kind: "error" }>["code"]): ActionAnswer => ({
    kind: "error",
    code,
    message,
    reason,
  });
  const conflict: ActionAnswer = { kind: "conflict", message, reason };
  if (isCodeIn(THROTTLED, code) || status === 429) return buildError("Throttled");
  if (code === UNAUTHORIZED || DENIED.has(code)) return buildError("Denied");
  if (isCodeIn(QUOTA, code)) return buildError("Invalid");
  if (IN_USE.test(code)) return buildError("Unavailable");
  if (DUPLICATE.test(code))
    return isAlreadyAllowed(action, parameters) ? { kind: "done", result: {} } : conflict;
  if (NOT_FOUND.test(code)) {
    return isAlreadyRemoved(action, code, parameters) ? { kind: "done", result: {} } : conflict;
  }
  if (status === 401 || status === 403) return buildError("Denied");
  if (status === undefined || status >= 500) return buildError("Unavailable");
  return buildError("Invalid");
}

/** Another resource still holds it, or a change is in progress: the error is temporary. */
const IN_USE = /^DependencyViolation$|InUse$|^IncorrectState|^IncorrectInstanceState$|^OperationInProgress$/;

const DUPLICATE = /Duplicate|AlreadyExists/;

/**
 * The resource does not exist. `InvalidInstance`, `InvalidTarget` and `InvalidGroup…` name one of several
 * resources. `AccessPoint` and `EndPoint` are Elastic Load Balancing's terms for the classic load balancer
 * and its instances.
 */
const NOT_FOUND = /NotFound$|^InvalidInstance$|^InvalidEndPoint$|^InvalidTarget$/;

/**
 * Whether an error says that everything to be removed is missing already. If only one of several members is
 * missing, AWS removes none of the others, so this is false.
 */
function isAlreadyRemoved(
  action: string,
  code: string,
  parameters: Readonly<Record<string, unknown>>,
): boolean {
  const isRemoval = /:(Delete|Deregister|Revoke|Detach|Remove)/.test(action);
  if (!isRemoval) return false;
  const member = ERROR_MEMBERS[action];
  if (member === undefined || !member.code.test(code)) return true;
  const list = parameters[member.list];
  return Array.isArray(list) && list.length === 1 && countRanges(list[0]) <= 1;
}

/**
 * Whether the rule to be added exists already. True for a single rule only: of several, AWS does not say
 * which one exists and adds none.
 */
function isAlreadyAllowed(action: string, { IpPermissions }: Readonly<Record<string, unknown>>): boolean {
  if (action !== "ec2:AuthorizeSecurityGroupIngress" || !Array.isArray(IpPermissions)) return false;
  return IpPermissions.length === 1 && countRanges(IpPermissions[0]) === 1;
}

/**
 * Operations that remove several members at once: the list's field, and the code that says that a member is
 * missing.
 */
const ERROR_MEMBERS: Readonly<Record<string, { readonly list: string; readonly code: RegExp }>> = {
  "ec2:RevokeSecurityGroupIngress": { list: "IpPermissions", code: /^InvalidPermission/ },
  "ec2:DeleteTags": { list: "Resources", code: /./ },
  "elbv2:DeregisterTargets": { list: "Targets", code: /^InvalidTarget/ },
  "elb:DeregisterInstancesFromLoadBalancer": { list: "Instances", code: /^Invalid(Instance|EndPoint)/ },
};

/** The number of rules in a permission; 1 for a permission without any list. */
function countRanges(permission: unknown): number {
  const lists = ["IpRanges", "Ipv6Ranges", "UserIdGroupPairs", "PrefixListIds"] as const;
  const { ...ranges } = permission as Partial<Record<(typeof lists)[number], readonly unknown[]>>;
  return lists.reduce((sum, list) => sum + (ranges[list]?.length ?? 0), 0);
}

import { errorOf } from "#clouds/aws/actions/error-of.ts";
import { DENIED, isCodeIn, QUOTA, THROTTLED, UNAUTHORIZED } from "#clouds/aws/errors.ts";
import type { ActionAnswer } from "#core/capability.ts";

/** What an action comes to that AWS answered with an error, or did not answer; `parameters` are its request. */
export function answerError(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
  thrown: unknown,
): ActionAnswer {
  const { code, message: words, status } = errorOf(thrown);
  const message = `${action}: ${code === "" || code === "Error" ? "" : `${code}: `}${words}`;
  const reason = code === "" ? undefined : code;
  const failed = (code: Extract<ActionAnswer, { kind: "error" }>["code"]): ActionAnswer => ({
    kind: "error",
    code,
    message,
    reason,
  });
  const conflict: ActionAnswer = { kind: "conflict", message, reason };
  if (isCodeIn(THROTTLED, code) || status === 429) return failed("Throttled");
  if (code === UNAUTHORIZED || DENIED.has(code)) return failed("Denied");
  if (isCodeIn(QUOTA, code)) return failed("Invalid");
  if (IN_USE.test(code)) return failed("Unavailable");
  if (DUPLICATE.test(code)) return isLetIn(action, parameters) ? { kind: "done", result: {} } : conflict;
  if (NOT_FOUND.test(code)) {
    return isGone(action, code, parameters) ? { kind: "done", result: {} } : conflict;
  }
  if (status === 401 || status === 403) return failed("Denied");
  if (status === undefined || status >= 500) return failed("Unavailable");
  return failed("Invalid");
}

/** Something else holds it still, or it is being changed: it passes. */
const IN_USE = /^DependencyViolation$|InUse$|^IncorrectState|^IncorrectInstanceState$|^OperationInProgress$/;

const DUPLICATE = /Duplicate|AlreadyExists/;

/**
 * There is no such thing. `InvalidInstance`, `InvalidTarget` and `InvalidGroup…` among them say so of one among others; Elastic Load
 * Balancing's own words for the classic load balancer are `AccessPoint` and `EndPoint`.
 */
const NOT_FOUND = /NotFound$|^InvalidInstance$|^InvalidEndPoint$|^InvalidTarget$/;

/**
 * Whether an error says that what was to be taken away is not there: all of it. Where one of several is missing AWS does nothing to
 * the others, so that is not it.
 */
function isGone(action: string, code: string, parameters: Readonly<Record<string, unknown>>): boolean {
  const taking = /:(Delete|Deregister|Revoke|Detach|Remove)/.test(action);
  if (!taking) return false;
  const member = MEMBERS[action];
  if (member === undefined || !member.code.test(code)) return true;
  const list = parameters[member.list];
  return Array.isArray(list) && list.length === 1 && rangesIn(list[0]) <= 1;
}

/** One rule that is there already lets in what it is to let in; of several nobody says which, and AWS adds none of the others. */
function isLetIn(action: string, { IpPermissions }: Readonly<Record<string, unknown>>): boolean {
  if (action !== "ec2:AuthorizeSecurityGroupIngress" || !Array.isArray(IpPermissions)) return false;
  return IpPermissions.length === 1 && rangesIn(IpPermissions[0]) === 1;
}

/** Of what takes several things away at once: where they stand, and the code that says that one of them is not there. */
const MEMBERS: Readonly<Record<string, { readonly list: string; readonly code: RegExp }>> = {
  "ec2:RevokeSecurityGroupIngress": { list: "IpPermissions", code: /^InvalidPermission/ },
  "ec2:DeleteTags": { list: "Resources", code: /./ },
  "elbv2:DeregisterTargets": { list: "Targets", code: /^InvalidTarget/ },
  "elb:DeregisterInstancesFromLoadBalancer": { list: "Instances", code: /^Invalid(Instance|EndPoint)/ },
};

/** How many rules a permission stands for; 1 for whatever is none. */
function rangesIn(permission: unknown): number {
  const lists = ["IpRanges", "Ipv6Ranges", "UserIdGroupPairs", "PrefixListIds"] as const;
  const { ...of } = permission as Partial<Record<(typeof lists)[number], readonly unknown[]>>;
  return lists.reduce((sum, list) => sum + (of[list]?.length ?? 0), 0);
}

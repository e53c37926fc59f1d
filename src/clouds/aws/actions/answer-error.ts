import { parseAwsError } from "#clouds/aws/actions/parse-aws-error.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { DENIED, isCodeIn, QUOTA, THROTTLED, UNAUTHORIZED } from "#platforms/aws/error-codes.ts";

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

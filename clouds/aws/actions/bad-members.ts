import { parseAwsError } from "#clouds/aws/actions/parse-aws-error.ts";

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
export interface RequestPart {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
}

/**
 * Returns the requests that replace one that AWS rejected because of some members. It leaves out the members
 * that AWS named, or splits the list into halves. Empty for other errors, or if one member is left.
 */
export function splitBadMembers(
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
export function listMemberIds(action: string, parameters: Readonly<Record<string, unknown>>): string[] {
  const members = MEMBERS[action];
  if (members === undefined) return [];
  const list = parameters[members.list] as readonly Readonly<Record<string, unknown>>[];
  return list.map((member) => String(member[members.id]));
}

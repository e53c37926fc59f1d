import { errorOf } from "#clouds/aws/actions/error-of.ts";

/** Members of a request that AWS refuses as a whole for one of them: where they stand, and what it calls a bad one. */
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

/** A request, and the ids of what was left out of it. */
export interface Part {
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly refused: readonly string[];
}

/**
 * What to send in place of a request that was refused for some of its members: the same without those that AWS named, else its
 * halves. None where that is not why it was refused, or where there is nothing to part.
 */
export function withoutBadMembers(
  action: string,
  parameters: Readonly<Record<string, unknown>>,
  thrown: unknown,
): readonly Part[] {
  const members = MEMBERS[action];
  const { code, message } = errorOf(thrown);
  if (members === undefined || !members.code.test(code)) return [];
  const list = parameters[members.list] as readonly Readonly<Record<string, unknown>>[];
  const named = new Set(message.match(/\bi-[0-9A-Za-z]+/g));
  const isBad = (member: Readonly<Record<string, unknown>>): boolean => named.has(String(member[members.id]));
  const bad = list.filter(isBad).map((member) => String(member[members.id]));
  if (bad.length > 0) {
    const rest = list.filter((member) => !isBad(member));
    return rest.length === 0 ? [] : [{ parameters: { ...parameters, [members.list]: rest }, refused: bad }];
  }
  if (list.length < 2) return [];
  const half = Math.ceil(list.length / 2);
  return [list.slice(0, half), list.slice(half)].map((part) => ({
    parameters: { ...parameters, [members.list]: part },
    refused: [],
  }));
}

/** The ids of all members of a request. */
export function memberIds(action: string, parameters: Readonly<Record<string, unknown>>): string[] {
  const members = MEMBERS[action];
  if (members === undefined) return [];
  const list = parameters[members.list] as readonly Readonly<Record<string, unknown>>[];
  return list.map((member) => String(member[members.id]));
}

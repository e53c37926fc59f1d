import { type Answer, buildFault, type Call, getResult, hasSucceeded } from "../call.ts";
import { type Behind, listForm, type Mend, type Mends } from "../mend.ts";
import { findText, listMembers } from "../xml.ts";

/** Mends of tags of both ELBs: twenty resources a call, and a missing one fails it. */
export function createTagMends(): Mends {
  // Moto keeps the tags of deleted resources.
  const deleted = new Set<string>();
  const remembering =
    (parameter: string): Mend =>
    async (call, next) => {
      const answer = await next(call);
      const arn = call.parameters.text(parameter);
      if (hasSucceeded(answer) && arn !== undefined) deleted.add(arn);
      return answer;
    };
  const isDeleted = (arn: string): boolean =>
    deleted.has(arn) || deleted.has(arn.replace(":listener/", ":loadbalancer/").replace(/\/[0-9a-f]+$/, ""));
  return {
    byOperation: {
      "elb:DescribeTags": async (call, next) => {
        const names = call.parameters.list("LoadBalancerNames.member");
        return names.length > MOST_RESOURCES ? tooMany(call) : next(call);
      },
      "elbv2:DescribeTags": async (call, next, behind) => {
        const arns = call.parameters.list("ResourceArns.member");
        if (arns.length > MOST_RESOURCES) return tooMany(call);
        const answer = await next(call);
        const untagged = listMembers(getResult(answer), "TagDescriptions")
          .filter((each) => listMembers(each, "Tags").length === 0)
          .map((each) => findText(each, "ResourceArn") ?? "");
        return (await missingOf(call, arns, untagged, isDeleted, behind)) ?? answer;
      },
      "elbv2:DeleteLoadBalancer": remembering("LoadBalancerArn"),
      "elbv2:DeleteTargetGroup": remembering("TargetGroupArn"),
      "elbv2:DeleteListener": remembering("ListenerArn"),
    },
    forget: () => deleted.clear(),
    kept: [deleted],
  };
}

/** A resource with tags that was not deleted exists; the mend asks moto only about the rest. */
async function missingOf(
  call: Call,
  arns: readonly string[],
  untagged: readonly string[],
  isDeleted: (arn: string) => boolean,
  behind: Behind,
): Promise<Answer | undefined> {
  for (const { part, operation, form, list, arn, code } of KINDS) {
    const of = arns.filter((each) => each.includes(part));
    const missing = buildFault(call, code, "One or more resources were not found");
    if (of.some(isDeleted)) return missing;
    const asked = of.filter((each) => untagged.includes(each));
    if (asked.length === 0) continue;
    const found = await behind.ask("elbv2", operation, listForm(form, asked)).catch(() => undefined);
    const known = listMembers(found, list).map((each) => findText(each, arn));
    if (!asked.every((each) => known.includes(each))) return missing;
  }
  return undefined;
}

const MOST_RESOURCES = 20;

const KINDS = [
  {
    part: ":loadbalancer/",
    operation: "DescribeLoadBalancers",
    form: "LoadBalancerArns.member",
    list: "LoadBalancers",
    arn: "LoadBalancerArn",
    code: "LoadBalancerNotFound",
  },
  {
    part: ":targetgroup/",
    operation: "DescribeTargetGroups",
    form: "TargetGroupArns.member",
    list: "TargetGroups",
    arn: "TargetGroupArn",
    code: "TargetGroupNotFound",
  },
  {
    part: ":listener/",
    operation: "DescribeListeners",
    form: "ListenerArns.member",
    list: "Listeners",
    arn: "ListenerArn",
    code: "ListenerNotFound",
  },
] as const;

function tooMany(call: Call): Answer {
  return buildFault(
    call,
    "ValidationError",
    `Up to ${MOST_RESOURCES} resources can be described in a single call`,
  );
}

import { faultOf } from "../call.ts";
import { listForm, type Mend, type Mends } from "../mend.ts";
import { listOf, textOf } from "../xml.ts";

/** Tags of both ELBs: twenty resources a call, and one that is not there fails it. */
export const TAGS: Mends = {
  byOperation: {
    "elb:DescribeTags": async (call, next) => {
      const names = call.parameters.list("LoadBalancerNames.member");
      return names.length > MOST_RESOURCES ? tooMany(call) : next(call);
    },
    "elbv2:DescribeTags": async (call, next, behind) => {
      const arns = call.parameters.list("ResourceArns.member");
      if (arns.length > MOST_RESOURCES) return tooMany(call);
      for (const { part, operation, form, list, arn, code } of KINDS) {
        const asked = arns.filter((each) => each.includes(part));
        if (asked.length === 0) continue;
        const found = await behind.ask("elbv2", operation, listForm(form, asked)).catch(() => undefined);
        const known = listOf(found, list).map((each) => textOf(each, arn));
        if (!asked.every((each) => known.includes(each)))
          return faultOf(call, code, "One or more resources were not found");
      }
      return next(call);
    },
  },
};

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

function tooMany(call: Parameters<Mend>[0]): ReturnType<typeof faultOf> {
  return faultOf(
    call,
    "ValidationError",
    `Up to ${MOST_RESOURCES} resources can be described in a single call`,
  );
}

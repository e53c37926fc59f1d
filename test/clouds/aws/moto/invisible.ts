import { type Answer, buildFault, type Call, formatCallName, getResult, hasSucceeded } from "./call.ts";
import { findText, listMembers, setChild, type XmlElement } from "./xml.ts";

/** Hides created resources from the first describes that would show them. */
export interface Invisibility {
  /**
   * From now on, hides each new resource from so many describes; 0 ends this, also for resources that are
   * hidden now.
   */
  hideNew(describes: number): void;
  /** Returns the answer without hidden resources. */
  pass(call: Call, answer: Answer): Answer;
  forget(): void;
}

interface Kind {
  readonly create: string;
  /** Returns the name or ID of the created resource, from the answer or the request. */
  madeBy(call: Call, result: XmlElement): string | undefined;
  readonly describe: string;
  /** Lists of the answer, and the name of each item there. */
  readonly lists: (result: XmlElement) => readonly { readonly of: XmlElement; readonly list: string }[];
  readonly keysOf: (item: XmlElement) => readonly (string | undefined)[];
  /** Describes by name, and their answer for a hidden resource. */
  readonly askedBy: readonly string[];
  readonly notFound: string;
}

const KINDS: readonly Kind[] = [
  {
    create: "elbv2:CreateLoadBalancer",
    madeBy: (call) => call.parameters.text("Name"),
    describe: "elbv2:DescribeLoadBalancers",
    lists: (of) => [{ of, list: "LoadBalancers" }],
    keysOf: (item) => [findText(item, "LoadBalancerName"), findText(item, "LoadBalancerArn")],
    askedBy: ["Names.member", "LoadBalancerArns.member"],
    notFound: "LoadBalancerNotFound",
  },
  {
    create: "elbv2:CreateTargetGroup",
    madeBy: (call) => call.parameters.text("Name"),
    describe: "elbv2:DescribeTargetGroups",
    lists: (of) => [{ of, list: "TargetGroups" }],
    keysOf: (item) => [findText(item, "TargetGroupName"), findText(item, "TargetGroupArn")],
    askedBy: ["Names.member", "TargetGroupArns.member"],
    notFound: "TargetGroupNotFound",
  },
  {
    create: "elbv2:CreateListener",
    madeBy: (_, result) => findText(listMembers(result, "Listeners").at(0), "ListenerArn"),
    describe: "elbv2:DescribeListeners",
    lists: (of) => [{ of, list: "Listeners" }],
    keysOf: (item) => [findText(item, "ListenerArn")],
    askedBy: ["ListenerArns.member"],
    notFound: "ListenerNotFound",
  },
  {
    create: "elb:CreateLoadBalancer",
    madeBy: (call) => call.parameters.text("LoadBalancerName"),
    describe: "elb:DescribeLoadBalancers",
    lists: (of) => [{ of, list: "LoadBalancerDescriptions" }],
    keysOf: (item) => [findText(item, "LoadBalancerName")],
    askedBy: ["LoadBalancerNames.member"],
    notFound: "LoadBalancerNotFound",
  },
  {
    create: "ec2:CreateSecurityGroup",
    madeBy: (_, result) => findText(result, "groupId"),
    describe: "ec2:DescribeSecurityGroups",
    lists: (of) => [{ of, list: "securityGroupInfo" }],
    keysOf: (item) => [findText(item, "groupId")],
    askedBy: ["GroupId"],
    notFound: "InvalidGroup.NotFound",
  },
  {
    create: "ec2:CreateRoute",
    madeBy: ({ parameters }) =>
      parameters.text("DestinationCidrBlock") ?? parameters.text("DestinationIpv6CidrBlock"),
    describe: "ec2:DescribeRouteTables",
    lists: (result) => listMembers(result, "routeTableSet").map((of) => ({ of, list: "routeSet" })),
    keysOf: (item) => [findText(item, "destinationCidrBlock"), findText(item, "destinationIpv6CidrBlock")],
    askedBy: [],
    notFound: "",
  },
];

export function createInvisibility(): Invisibility {
  let describes = 0;
  /** The describes left, by creating operation and name. */
  const hidden = new Map<string, number>();

  const made = (call: Call, answer: Answer): void => {
    const kind = KINDS.find(({ create }) => create === formatCallName(call));
    const key = kind?.madeBy(call, getResult(answer));
    if (kind !== undefined && key !== undefined && describes > 0)
      hidden.set(`${kind.create} ${key}`, describes);
  };

  const described = (call: Call, answer: Answer, kind: Kind): Answer => {
    const met = new Set<string>();
    const askedKeys = kind.askedBy.flatMap((list) => call.parameters.list(list));
    let isAskedFor = false;
    for (const { of, list } of kind.lists(getResult(answer))) {
      const shown = listMembers(of, list).filter((item) => {
        const keys = kind.keysOf(item);
        const key = keys.find((each) => hidden.has(`${kind.create} ${each}`));
        if (key === undefined) return true;
        met.add(`${kind.create} ${key}`);
        isAskedFor ||= keys.some((each) => each !== undefined && askedKeys.includes(each));
        return false;
      });
      if (met.size > 0) setChild(of, list, shown);
    }
    for (const key of met) {
      const left = (hidden.get(key) ?? 0) - 1;
      if (left <= 0) hidden.delete(key);
      else hidden.set(key, left);
    }
    return isAskedFor ? buildFault(call, kind.notFound, "What was asked for was not found") : answer;
  };

  return {
    hideNew: (next) => {
      describes = next;
      if (next === 0) hidden.clear();
    },
    pass: (call, answer) => {
      if (!hasSucceeded(answer)) return answer;
      made(call, answer);
      const kind = KINDS.find(({ describe }) => describe === formatCallName(call));
      return kind === undefined ? answer : described(call, answer, kind);
    },
    forget: () => {
      describes = 0;
      hidden.clear();
    },
  };
}

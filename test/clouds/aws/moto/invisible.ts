import { type Answer, type Call, faultOf, nameOf, resultOf, succeeded } from "./call.ts";
import { listOf, setChild, textOf, type XmlElement } from "./xml.ts";

/** Makes what is created invisible to the first describes that would show it. */
export interface Invisibility {
  /** From now on, each new resource for so many describes; 0 for none, nor what is hidden still. */
  hideNew(describes: number): void;
  /** What becomes of an answer. */
  pass(call: Call, answer: Answer): Answer;
  forget(): void;
}

interface Kind {
  readonly create: string;
  /** The name or id of what an answer to `create` tells of, or its request. */
  madeBy(call: Call, result: XmlElement): string | undefined;
  readonly describe: string;
  /** Lists of the answer, and what each item is called there. */
  readonly lists: (result: XmlElement) => readonly { readonly of: XmlElement; readonly list: string }[];
  readonly keysOf: (item: XmlElement) => readonly (string | undefined)[];
  /** Where a describe asks for it by name, and what it is answered then. */
  readonly askedBy: readonly string[];
  readonly notFound: string;
}

const KINDS: readonly Kind[] = [
  {
    create: "elbv2:CreateLoadBalancer",
    madeBy: (call) => call.parameters.text("Name"),
    describe: "elbv2:DescribeLoadBalancers",
    lists: (of) => [{ of, list: "LoadBalancers" }],
    keysOf: (item) => [textOf(item, "LoadBalancerName"), textOf(item, "LoadBalancerArn")],
    askedBy: ["Names.member", "LoadBalancerArns.member"],
    notFound: "LoadBalancerNotFound",
  },
  {
    create: "elbv2:CreateTargetGroup",
    madeBy: (call) => call.parameters.text("Name"),
    describe: "elbv2:DescribeTargetGroups",
    lists: (of) => [{ of, list: "TargetGroups" }],
    keysOf: (item) => [textOf(item, "TargetGroupName"), textOf(item, "TargetGroupArn")],
    askedBy: ["Names.member", "TargetGroupArns.member"],
    notFound: "TargetGroupNotFound",
  },
  {
    create: "elbv2:CreateListener",
    madeBy: (_, result) => textOf(listOf(result, "Listeners").at(0), "ListenerArn"),
    describe: "elbv2:DescribeListeners",
    lists: (of) => [{ of, list: "Listeners" }],
    keysOf: (item) => [textOf(item, "ListenerArn")],
    askedBy: ["ListenerArns.member"],
    notFound: "ListenerNotFound",
  },
  {
    create: "elb:CreateLoadBalancer",
    madeBy: (call) => call.parameters.text("LoadBalancerName"),
    describe: "elb:DescribeLoadBalancers",
    lists: (of) => [{ of, list: "LoadBalancerDescriptions" }],
    keysOf: (item) => [textOf(item, "LoadBalancerName")],
    askedBy: ["LoadBalancerNames.member"],
    notFound: "LoadBalancerNotFound",
  },
  {
    create: "ec2:CreateSecurityGroup",
    madeBy: (_, result) => textOf(result, "groupId"),
    describe: "ec2:DescribeSecurityGroups",
    lists: (of) => [{ of, list: "securityGroupInfo" }],
    keysOf: (item) => [textOf(item, "groupId")],
    askedBy: ["GroupId"],
    notFound: "InvalidGroup.NotFound",
  },
  {
    create: "ec2:CreateRoute",
    madeBy: ({ parameters }) =>
      parameters.text("DestinationCidrBlock") ?? parameters.text("DestinationIpv6CidrBlock"),
    describe: "ec2:DescribeRouteTables",
    lists: (result) => listOf(result, "routeTableSet").map((of) => ({ of, list: "routeSet" })),
    keysOf: (item) => [textOf(item, "destinationCidrBlock"), textOf(item, "destinationIpv6CidrBlock")],
    askedBy: [],
    notFound: "",
  },
];

export function createInvisibility(): Invisibility {
  let describes = 0;
  /** By what creates it and its name: describes left. */
  const hidden = new Map<string, number>();

  const made = (call: Call, answer: Answer): void => {
    const kind = KINDS.find(({ create }) => create === nameOf(call));
    const key = kind?.madeBy(call, resultOf(answer));
    if (kind !== undefined && key !== undefined && describes > 0)
      hidden.set(`${kind.create} ${key}`, describes);
  };

  const described = (call: Call, answer: Answer, kind: Kind): Answer => {
    const met = new Set<string>();
    const askedKeys = kind.askedBy.flatMap((list) => call.parameters.list(list));
    let isAskedFor = false;
    for (const { of, list } of kind.lists(resultOf(answer))) {
      const shown = listOf(of, list).filter((item) => {
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
    return isAskedFor ? faultOf(call, kind.notFound, "What was asked for was not found") : answer;
  };

  return {
    hideNew: (next) => {
      describes = next;
      if (next === 0) hidden.clear();
    },
    pass: (call, answer) => {
      if (!succeeded(answer)) return answer;
      made(call, answer);
      const kind = KINDS.find(({ describe }) => describe === nameOf(call));
      return kind === undefined ? answer : described(call, answer, kind);
    },
    forget: () => {
      describes = 0;
      hidden.clear();
    },
  };
}

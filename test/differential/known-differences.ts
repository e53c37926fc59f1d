import { type Difference, IS_BEING_DELETED, IS_MADE_AGAIN } from "./snapshot.ts";

/** A deliberate difference: a row of a page of docs. */
export interface KnownDifference {
  /** The page, from the project's folder. */
  readonly page: string;
  /** The beginning of the row or item. */
  readonly text: string;
  covers(difference: Difference): boolean;
}

const CLASSIC = "docs/reference/classic-load-balancers-on-aws.md";
const SERVICES = "docs/reference/services-on-aws.md";
const SWITCH_OFF = "docs/how-to/switch-the-stock-controller-off.md";

/** Tags that come from annotations, and the tag that remembers them. */
const ADDITIONAL_TAG = /^\.[tT]ags\.(team|level|serverless-ccm\.io\/additional-tags)$/;

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    page: "docs/explanation/differences.md",
    text: "| Labels missing after initialization |",
    covers: ({ thing, path, stock }) =>
      thing.startsWith("node ") && /^\.labels\..*\/(region|zone)$/.test(path) && stock.length === 0,
  },
  {
    page: "docs/explanation/differences.md",
    text: "| Instance that is shutting down or terminated |",
    covers: ({ thing, path, stock, ours }) =>
      thing.startsWith("node ") &&
      path === "" &&
      stock.length === 0 &&
      ours.some(
        (fact) => fact.startsWith(".taints[]") && fact.includes("cloudprovider.kubernetes.io/uninitialized"),
      ),
  },
  {
    page: SWITCH_OFF,
    text: "| Services | one tag, `kubernetes.io/service-name`, on the security group",
    covers: ({ thing, path, stock }) =>
      thing.startsWith("security group k8s-elb-") &&
      path === ".Tags.kubernetes.io/service-name" &&
      stock.length === 0,
  },
  {
    page: SERVICES,
    text: "| a target group without a listener |",
    covers: ({ thing, path, ours }) =>
      /^target group .* without load balancer$/.test(thing) && path === "" && ours.length === 0,
  },
  {
    page: SERVICES,
    text: "| a target group of a failed attempt, and other settings since |",
    covers: ({ stock, stockFailure = "" }) =>
      stockFailure.includes("DuplicateTargetGroupName") && stock.length === 0,
  },
  {
    page: SERVICES,
    text: "| a security group whose deletion failed, or whose load balancer was not created |",
    covers: ({ thing, path, stock, ours, stockFailure = "" }) =>
      (path === ""
        ? thing.startsWith("security group k8s-elb-")
        : thing === "security group nodes" && stock.every((rule) => rule.includes('"<group k8s-elb-'))) &&
      ours.length === 0 &&
      /could not delete security groups|failed to ensure load balancer/.test(stockFailure),
  },
  {
    page: SERVICES,
    text: "| a classic load balancer deleted while nodes change |",
    covers: ({ thing, path, stock, ours, stockFailure }) =>
      stockFailure === IS_BEING_DELETED &&
      ours.length === 0 &&
      (path === ""
        ? /^(Service|security group k8s-elb-)/.test(thing)
        : thing === "security group nodes" && stock.every((rule) => rule.includes('"<group k8s-elb-'))),
  },
  {
    page: SERVICES,
    text: "| an NLB deleted while nodes change |",
    covers: ({ thing, path, stock, ours, stockFailure = "" }) =>
      stockFailure.includes(IS_MADE_AGAIN) &&
      ours.length === 0 &&
      (path === ""
        ? /^(network load balancer|listener|target group) /.test(thing)
        : thing === "security group nodes" && stock.every((rule) => rule.includes("/rule/nlb/"))),
  },
  {
    page: SERVICES,
    text: "| rules on the nodes' groups that no NLB needs any more |",
    covers: ({ thing, stock, ours, ourFacts, stockFailure = "" }) =>
      thing === "security group nodes" &&
      ours.length === 0 &&
      stock.every(
        (rule) =>
          isUnneeded(rule, ourFacts) ||
          (rule.includes("/rule/nlb/") && FAILED_AFTER_DELETION.test(stockFailure)),
      ),
  },
  {
    page: SERVICES,
    text: "| the ICMP rule that several NLBs share |",
    covers: ({ thing, stock, ours, ourFacts }) =>
      thing === "security group nodes" &&
      stock.length === 0 &&
      ours.every((rule) => rule.includes("/rule/nlb/mtu") && !isUnneeded(rule, ourFacts)),
  },
  {
    page: SERVICES,
    text: "| `additional-resource-tags` changed |",
    covers: ({ thing, path }) =>
      /^(network|listener|target|security group k8s-elb-)/.test(thing) && ADDITIONAL_TAG.test(path),
  },
  {
    page: SERVICES,
    text: "Two tags remember which tags and target group attributes came from annotations:",
    covers: ({ thing, path, stock }) =>
      /^(network|listener|target)/.test(thing) &&
      path === ".tags.serverless-ccm.io/target-group-attributes" &&
      stock.length === 0,
  },
  {
    page: SERVICES,
    text: "| `target-group-attributes` removed |",
    covers: ({ thing, path }) =>
      thing.startsWith("target group ") &&
      /^\.attributes\.(preserve_client_ip|proxy_protocol_v2)\.enabled$/.test(path),
  },
  {
    page: CLASSIC,
    text: "- A removed annotation loses its effect: tags, attributes,",
    covers: ({ thing, path }) => thing.startsWith("classic load balancer ") && ADDITIONAL_TAG.test(path),
  },
];

/** The stock controller deletes target groups and rules after the load balancer, and only together with it. */
const FAILED_AFTER_DELETION =
  /error deleting (target groups after deleting load balancer|instance security group rules)/;

/** Whether no client's rule of ours needs this rule: clients of its network, or all of the load balancer's clients. */
function isUnneeded(rule: string, ourFacts: readonly string[]): boolean {
  const { peer } = JSON.parse(rule) as {
    readonly peer: { readonly CidrIp?: string; readonly Description?: string };
  };
  const { CidrIp, Description = "" } = peer;
  const clients = ourFacts.filter((fact) => fact.includes("rule/nlb/client="));
  if (Description.endsWith("rule/nlb/mtu"))
    return !clients.some((fact) => fact.includes(`"CidrIp":"${CidrIp}"`));
  const [, name = ""] = /rule\/nlb\/health=(.+)$/.exec(Description) ?? [];
  return (
    name !== "" && clients.some((fact) => fact.includes(`client=${name}"`) && fact.includes('"0.0.0.0/0"'))
  );
}

/** Returns the row that explains a difference, if any. */
export function findRow(difference: Difference): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((known) => known.covers(difference));
}

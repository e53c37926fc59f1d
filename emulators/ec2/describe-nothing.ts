import type { Action, Answer } from "./action.ts";

/** What the account has none of: it can be listed, as before a cluster is taken out, and nothing of it can be made. */
const none =
  (...lists: readonly string[]): Action =>
  (): Answer => ({
    kind: "answer",
    content: Object.fromEntries(lists.map((name) => [name, ""])),
    results: 0,
  });

/** Of either API: each reads the list that is its own. */
export const describeLoadBalancers = none("LoadBalancers", "LoadBalancerDescriptions");
export const describeTargetGroups = none("TargetGroups");
export const describeSecurityGroups = none("securityGroupInfo");

import type { Action, Answer } from "./action.ts";

/**
 * Lists resources that the account never has, as before the removal of a cluster; none of them can be
 * created.
 */
const createEmptyAction =
  (...lists: readonly string[]): Action =>
  (): Answer => ({
    kind: "answer",
    content: Object.fromEntries(lists.map((name) => [name, ""])),
    results: 0,
  });

/** For either API: each reads its own list. */
export const describeLoadBalancers = createEmptyAction("LoadBalancers", "LoadBalancerDescriptions");
export const describeTargetGroups = createEmptyAction("TargetGroups");
export const describeSecurityGroups = createEmptyAction("securityGroupInfo");

import * as z from "zod";
import { Group, type OciState, Rule, type SeenGroup } from "#clouds/oci/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

const Added = z.object({ securityRules: z.array(Rule).nullish() });
const Removed = z.object({ securityRuleIds: z.array(z.string()) });

/** What there is after an action of ours: of load balancers, that something was ordered; groups and rules are there or gone at once. */
export function foldAction(
  state: OciState,
  { action, target, parameters }: LoadBalancerAction,
  result: unknown,
): OciState {
  switch (action) {
    case "vcn:CreateNetworkSecurityGroup": {
      const group = Group.safeParse(result).data;
      return group === undefined
        ? { ...state, isOrdered: true }
        : { ...state, groups: [...state.groups, { group, rules: [] }] };
    }
    case "vcn:MarkNetworkSecurityGroup":
      return state;
    case "vcn:DeleteNetworkSecurityGroup":
      return { ...state, groups: state.groups.filter(({ group }) => group.id !== target) };
    case "vcn:AddSecurityRules": {
      const added = Added.safeParse(result).data?.securityRules;
      if (added == null) return { ...state, isOrdered: true };
      return withRules(state, target, (rules) => [...rules, ...added]);
    }
    case "vcn:RemoveSecurityRules": {
      const gone = new Set(Removed.parse(parameters["body"]).securityRuleIds);
      return withRules(state, target, (rules) => rules.filter(({ id }) => id == null || !gone.has(id)));
    }
    default:
      return { ...state, isOrdered: true };
  }
}

function withRules(
  state: OciState,
  id: string,
  change: (rules: readonly Rule[]) => readonly Rule[],
): OciState {
  const changed = (seen: SeenGroup): SeenGroup =>
    seen.group.id === id ? { ...seen, rules: change(seen.rules) } : seen;
  const named = Object.entries(state.named).map(([key, seen]) => [key, seen === null ? null : changed(seen)]);
  return { ...state, groups: state.groups.map(changed), named: Object.fromEntries(named) };
}

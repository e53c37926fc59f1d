import * as z from "zod";
import { Group, type ObservedGroup, type OciState, Rule } from "#clouds/oci/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

const AddedRules = z.object({ securityRules: z.array(Rule).nullish() });
const RemovedRules = z.object({ securityRuleIds: z.array(z.string()) });

/**
 * Returns the state after one of our actions. For load balancers a change was ordered; groups and rules
 * change at once.
 */
export function applyResult(
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
      const added = AddedRules.safeParse(result).data?.securityRules;
      if (added == null) return { ...state, isOrdered: true };
      return withRules(state, target, (rules) => [...rules, ...added]);
    }
    case "vcn:RemoveSecurityRules": {
      const gone = new Set(RemovedRules.parse(parameters["body"]).securityRuleIds);
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
  const changed = (observed: ObservedGroup): ObservedGroup =>
    observed.group.id === id ? { ...observed, rules: change(observed.rules) } : observed;
  const named = Object.entries(state.named).map(([key, observed]) => [
    key,
    observed === null ? null : changed(observed),
  ]);
  return { ...state, groups: state.groups.map(changed), named: Object.fromEntries(named) };
}

import type {
  CreateListenerOutput,
  CreateLoadBalancerOutput,
  CreateTargetGroupOutput,
  Listener,
  ModifyListenerOutput,
  ModifyTargetGroupOutput,
  SetIpAddressTypeOutput,
  SetSecurityGroupsOutput,
  SetSubnetsOutput,
  Tag,
  TargetDescription,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import type {
  AwsLoadBalancerState,
  NetworkLoadBalancerState,
  Pairs,
  TargetGroupState,
} from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The state after an action of ELBv2, as far as its answer tells; the same for any other action. */
export function foldNetwork(
  state: AwsLoadBalancerState,
  action: LoadBalancerAction,
  result: unknown,
): AwsLoadBalancerState {
  switch (action.action) {
    case "elbv2:CreateLoadBalancer": {
      const [made] = as<CreateLoadBalancerOutput>(result).LoadBalancers ?? [];
      const { Tags } = requestOf(action, "elbv2:CreateLoadBalancer");
      if (made === undefined) return state;
      const network = { loadBalancer: made, tags: pairs(Tags), attributes: {}, listeners: [] };
      return { ...state, network };
    }
    case "elbv2:DeleteLoadBalancer": {
      const { LoadBalancerArn } = requestOf(action, "elbv2:DeleteLoadBalancer");
      const targetGroups = state.targetGroups.map((each) => detached(each, LoadBalancerArn));
      return { ...state, network: undefined, targetGroups };
    }
    case "elbv2:SetSecurityGroups": {
      const { SecurityGroups } = requestOf(action, "elbv2:SetSecurityGroups");
      const { SecurityGroupIds = SecurityGroups ?? [] } = as<SetSecurityGroupsOutput>(result);
      return withBalancer(state, { SecurityGroups: SecurityGroupIds });
    }
    case "elbv2:SetSubnets": {
      const { IpAddressType, EnablePrefixForIpv6SourceNat } = requestOf(action, "elbv2:SetSubnets");
      const answer = as<SetSubnetsOutput>(result);
      return withBalancer(state, {
        ...defined({ IpAddressType, EnablePrefixForIpv6SourceNat }),
        ...defined({ AvailabilityZones: answer.AvailabilityZones, IpAddressType: answer.IpAddressType }),
      });
    }
    case "elbv2:SetIpAddressType": {
      const { IpAddressType } = requestOf(action, "elbv2:SetIpAddressType");
      return withBalancer(
        state,
        defined({ IpAddressType: as<SetIpAddressTypeOutput>(result).IpAddressType ?? IpAddressType }),
      );
    }
    case "elbv2:ModifyLoadBalancerAttributes": {
      const { Attributes } = requestOf(action, "elbv2:ModifyLoadBalancerAttributes");
      return withNetwork(state, (network) => ({
        ...network,
        attributes: { ...network.attributes, ...pairs(Attributes) },
      }));
    }
    case "elbv2:AddTags": {
      const { ResourceArns = [], Tags } = requestOf(action, "elbv2:AddTags");
      return withTags(state, ResourceArns, (tags) => ({ ...tags, ...pairs(Tags) }));
    }
    case "elbv2:RemoveTags": {
      const { ResourceArns = [], TagKeys = [] } = requestOf(action, "elbv2:RemoveTags");
      return withTags(state, ResourceArns, (tags) =>
        Object.fromEntries(Object.entries(tags).filter(([key]) => !TagKeys.includes(key))),
      );
    }
    case "elbv2:CreateListener": {
      const [made] = as<CreateListenerOutput>(result).Listeners ?? [];
      const { Tags } = requestOf(action, "elbv2:CreateListener");
      if (made === undefined) return state;
      return attached(
        withNetwork(state, (network) => ({
          ...network,
          listeners: [...network.listeners, { listener: made, tags: pairs(Tags) }],
        })),
      );
    }
    case "elbv2:ModifyListener": {
      const { ListenerArn, ...changed } = requestOf(action, "elbv2:ModifyListener");
      const [answer] = as<ModifyListenerOutput>(result).Listeners ?? [];
      return attached(
        withNetwork(state, (network) => ({
          ...network,
          listeners: network.listeners.map((each) =>
            each.listener.ListenerArn === ListenerArn
              ? { ...each, listener: { ...each.listener, ...withoutTls(changed), ...answer } }
              : each,
          ),
        })),
      );
    }
    case "elbv2:DeleteListener": {
      const { ListenerArn } = requestOf(action, "elbv2:DeleteListener");
      return attached(
        withNetwork(state, (network) => ({
          ...network,
          listeners: network.listeners.filter(({ listener }) => listener.ListenerArn !== ListenerArn),
        })),
      );
    }
    case "elbv2:CreateTargetGroup": {
      const [group] = as<CreateTargetGroupOutput>(result).TargetGroups ?? [];
      const { Tags } = requestOf(action, "elbv2:CreateTargetGroup");
      if (group === undefined) return state;
      const made = { group, tags: pairs(Tags), attributes: {}, targets: [] };
      return { ...state, targetGroups: [...state.targetGroups, made] };
    }
    case "elbv2:ModifyTargetGroup": {
      const { TargetGroupArn, ...changed } = requestOf(action, "elbv2:ModifyTargetGroup");
      const [answer] = as<ModifyTargetGroupOutput>(result).TargetGroups ?? [];
      return withGroup(state, TargetGroupArn, (of) => ({
        ...of,
        group: { ...of.group, ...defined(changed), ...answer },
      }));
    }
    case "elbv2:ModifyTargetGroupAttributes": {
      const { TargetGroupArn, Attributes } = requestOf(action, "elbv2:ModifyTargetGroupAttributes");
      return withGroup(state, TargetGroupArn, (of) => ({
        ...of,
        attributes: { ...of.attributes, ...pairs(Attributes) },
      }));
    }
    case "elbv2:DeleteTargetGroup": {
      const { TargetGroupArn } = requestOf(action, "elbv2:DeleteTargetGroup");
      const left = state.targetGroups.filter(({ group }) => group.TargetGroupArn !== TargetGroupArn);
      return { ...state, targetGroups: left };
    }
    case "elbv2:RegisterTargets": {
      const { TargetGroupArn, Targets = [] } = requestOf(action, "elbv2:RegisterTargets");
      return withGroup(state, TargetGroupArn, (of) => ({
        ...of,
        targets: [
          ...of.targets.filter((each) => !Targets.some((target) => isSame(target, each, of))),
          ...Targets,
        ],
      }));
    }
    case "elbv2:DeregisterTargets": {
      const { TargetGroupArn, Targets = [] } = requestOf(action, "elbv2:DeregisterTargets");
      return withGroup(state, TargetGroupArn, (of) => ({
        ...of,
        targets: of.targets.filter((each) => !Targets.some((target) => isSame(target, each, of))),
      }));
    }
    default:
      return state;
  }
}

/** Actions are carried as JSON; what each name's parameters are the table of requests says. */
function requestOf<Name extends AwsActionName>(action: LoadBalancerAction, _name: Name): AwsRequests[Name] {
  return action.parameters as unknown as AwsRequests[Name];
}

/** What AWS answered, of which nothing is relied on to be there. */
function as<Answer>(result: unknown): Partial<Answer> {
  return typeof result === "object" && result !== null ? result : {};
}

function withNetwork(
  state: AwsLoadBalancerState,
  change: (network: NetworkLoadBalancerState) => NetworkLoadBalancerState,
): AwsLoadBalancerState {
  return state.network === undefined ? state : { ...state, network: change(state.network) };
}

function withBalancer(
  state: AwsLoadBalancerState,
  changed: NetworkLoadBalancerState["loadBalancer"],
): AwsLoadBalancerState {
  return withNetwork(state, (network) => ({
    ...network,
    loadBalancer: { ...network.loadBalancer, ...changed },
  }));
}

function withGroup(
  state: AwsLoadBalancerState,
  arn: string | undefined,
  change: (group: TargetGroupState) => TargetGroupState,
): AwsLoadBalancerState {
  const targetGroups = state.targetGroups.map((each) =>
    each.group.TargetGroupArn === arn ? change(each) : each,
  );
  return { ...state, targetGroups };
}

function withTags(
  state: AwsLoadBalancerState,
  arns: readonly string[],
  change: (tags: Pairs) => Pairs,
): AwsLoadBalancerState {
  const tagged = <Of extends { readonly tags: Pairs }>(of: Of, arn: string | undefined): Of =>
    arn !== undefined && arns.includes(arn) ? { ...of, tags: change(of.tags) } : of;
  const targetGroups = state.targetGroups.map((each) => tagged(each, each.group.TargetGroupArn));
  return withNetwork({ ...state, targetGroups }, (network) => ({
    ...tagged(network, network.loadBalancer.LoadBalancerArn),
    listeners: network.listeners.map((each) => tagged(each, each.listener.ListenerArn)),
  }));
}

/** Which target groups the load balancer uses follows from its listeners. */
function attached(state: AwsLoadBalancerState): AwsLoadBalancerState {
  const arn = state.network?.loadBalancer.LoadBalancerArn;
  if (arn === undefined) return state;
  const used = new Set(
    state.network?.listeners.flatMap(({ listener }) =>
      (listener.DefaultActions ?? []).flatMap(({ TargetGroupArn }) => TargetGroupArn ?? []),
    ),
  );
  const targetGroups = state.targetGroups.map((each) => {
    const others = (each.group.LoadBalancerArns ?? []).filter((other) => other !== arn);
    const isUsed = used.has(each.group.TargetGroupArn ?? "");
    return { ...each, group: { ...each.group, LoadBalancerArns: isUsed ? [...others, arn] : others } };
  });
  return { ...state, targetGroups };
}

function detached(each: TargetGroupState, arn: string | undefined): TargetGroupState {
  const others = (each.group.LoadBalancerArns ?? []).filter((other) => other !== arn);
  return { ...each, group: { ...each.group, LoadBalancerArns: others } };
}

/** A listener that ends TLS no more has neither certificates nor a policy. */
function withoutTls(changed: Listener): Listener {
  if (changed.Protocol === "TLS" || changed.Protocol === undefined) return defined(changed);
  return { ...defined(changed), Certificates: [], SslPolicy: undefined };
}

function isSame(one: TargetDescription, other: TargetDescription, { group }: TargetGroupState): boolean {
  return one.Id === other.Id && (one.Port ?? group.Port) === (other.Port ?? group.Port);
}

function pairs(list: readonly Partial<Tag>[] = []): Pairs {
  return Object.fromEntries(list.flatMap(({ Key, Value = "" }) => (Key ? [[Key, Value]] : [])));
}

function defined<Of extends object>(of: Of): Of {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined)) as Of;
}

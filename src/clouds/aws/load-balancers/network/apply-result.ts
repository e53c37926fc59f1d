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

/**
 * Returns the state after a successful ELBv2 action, from its request and AWS's answer. Other actions leave the
 * state unchanged.
 */
export function applyNetworkResult(
  state: AwsLoadBalancerState,
  action: LoadBalancerAction,
  result: unknown,
): AwsLoadBalancerState {
  switch (action.action) {
    case "elbv2:CreateLoadBalancer": {
      const [loadBalancer] = toPartial<CreateLoadBalancerOutput>(result).LoadBalancers ?? [];
      const { Tags } = getRequest(action, "elbv2:CreateLoadBalancer");
      if (loadBalancer === undefined) return state;
      const network = { loadBalancer, tags: toPairs(Tags), attributes: {}, listeners: [] };
      return { ...state, network };
    }
    case "elbv2:DeleteLoadBalancer": {
      const { LoadBalancerArn } = getRequest(action, "elbv2:DeleteLoadBalancer");
      const targetGroups = state.targetGroups.map((each) => detachTargetGroup(each, LoadBalancerArn));
      return { ...state, network: undefined, targetGroups };
    }
    case "elbv2:SetSecurityGroups": {
      const { SecurityGroups } = getRequest(action, "elbv2:SetSecurityGroups");
      const { SecurityGroupIds = SecurityGroups ?? [] } = toPartial<SetSecurityGroupsOutput>(result);
      return updateDescription(state, { SecurityGroups: SecurityGroupIds });
    }
    case "elbv2:SetSubnets": {
      const { IpAddressType, EnablePrefixForIpv6SourceNat } = getRequest(action, "elbv2:SetSubnets");
      const answer = toPartial<SetSubnetsOutput>(result);
      return updateDescription(state, {
        ...omitUndefined({ IpAddressType, EnablePrefixForIpv6SourceNat }),
        ...omitUndefined({
          AvailabilityZones: answer.AvailabilityZones,
          IpAddressType: answer.IpAddressType,
        }),
      });
    }
    case "elbv2:SetIpAddressType": {
      const { IpAddressType } = getRequest(action, "elbv2:SetIpAddressType");
      return updateDescription(
        state,
        omitUndefined({
          IpAddressType: toPartial<SetIpAddressTypeOutput>(result).IpAddressType ?? IpAddressType,
        }),
      );
    }
    case "elbv2:ModifyLoadBalancerAttributes": {
      const { Attributes } = getRequest(action, "elbv2:ModifyLoadBalancerAttributes");
      return updateLoadBalancerState(state, (network) => ({
        ...network,
        attributes: { ...network.attributes, ...toPairs(Attributes) },
      }));
    }
    case "elbv2:AddTags": {
      const { ResourceArns = [], Tags } = getRequest(action, "elbv2:AddTags");
      return updateTags(state, ResourceArns, (tags) => ({ ...tags, ...toPairs(Tags) }));
    }
    case "elbv2:RemoveTags": {
      const { ResourceArns = [], TagKeys = [] } = getRequest(action, "elbv2:RemoveTags");
      return updateTags(state, ResourceArns, (tags) =>
        Object.fromEntries(Object.entries(tags).filter(([key]) => !TagKeys.includes(key))),
      );
    }
    case "elbv2:CreateListener": {
      const [listener] = toPartial<CreateListenerOutput>(result).Listeners ?? [];
      const { Tags } = getRequest(action, "elbv2:CreateListener");
      if (listener === undefined) return state;
      return updateAttachments(
        updateLoadBalancerState(state, (network) => ({
          ...network,
          listeners: [...network.listeners, { listener, tags: toPairs(Tags) }],
        })),
      );
    }
    case "elbv2:ModifyListener": {
      const { ListenerArn, ...changed } = getRequest(action, "elbv2:ModifyListener");
      const [answer] = toPartial<ModifyListenerOutput>(result).Listeners ?? [];
      return updateAttachments(
        updateLoadBalancerState(state, (network) => ({
          ...network,
          listeners: network.listeners.map((each) =>
            each.listener.ListenerArn === ListenerArn
              ? { ...each, listener: { ...each.listener, ...removeTls(changed), ...answer } }
              : each,
          ),
        })),
      );
    }
    case "elbv2:DeleteListener": {
      const { ListenerArn } = getRequest(action, "elbv2:DeleteListener");
      return updateAttachments(
        updateLoadBalancerState(state, (network) => ({
          ...network,
          listeners: network.listeners.filter(({ listener }) => listener.ListenerArn !== ListenerArn),
        })),
      );
    }
    case "elbv2:CreateTargetGroup": {
      const [group] = toPartial<CreateTargetGroupOutput>(result).TargetGroups ?? [];
      const { Tags } = getRequest(action, "elbv2:CreateTargetGroup");
      if (group === undefined) return state;
      const created = { group, tags: toPairs(Tags), attributes: {}, targets: [] };
      return { ...state, targetGroups: [...state.targetGroups, created] };
    }
    case "elbv2:ModifyTargetGroup": {
      const { TargetGroupArn, ...changed } = getRequest(action, "elbv2:ModifyTargetGroup");
      const [answer] = toPartial<ModifyTargetGroupOutput>(result).TargetGroups ?? [];
      return updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
        ...targetGroup,
        group: { ...targetGroup.group, ...omitUndefined(changed), ...answer },
      }));
    }
    case "elbv2:ModifyTargetGroupAttributes": {
      const { TargetGroupArn, Attributes } = getRequest(action, "elbv2:ModifyTargetGroupAttributes");
      return updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
        ...targetGroup,
        attributes: { ...targetGroup.attributes, ...toPairs(Attributes) },
      }));
    }
    case "elbv2:DeleteTargetGroup": {
      const { TargetGroupArn } = getRequest(action, "elbv2:DeleteTargetGroup");
      const targetGroups = state.targetGroups.filter(({ group }) => group.TargetGroupArn !== TargetGroupArn);
      return { ...state, targetGroups };
    }
    case "elbv2:RegisterTargets": {
      const { TargetGroupArn, Targets = [] } = getRequest(action, "elbv2:RegisterTargets");
      return updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
        ...targetGroup,
        targets: [
          ...targetGroup.targets.filter(
            (each) => !Targets.some((target) => isSame(target, each, targetGroup)),
          ),
          ...Targets,
        ],
      }));
    }
    case "elbv2:DeregisterTargets": {
      const { TargetGroupArn, Targets = [] } = getRequest(action, "elbv2:DeregisterTargets");
      return updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
        ...targetGroup,
        targets: targetGroup.targets.filter(
          (each) => !Targets.some((target) => isSame(target, each, targetGroup)),
        ),
      }));
    }
    default:
      return state;
  }
}

/** Returns the request of an action, with the type that `AwsRequests` gives its name. */
function getRequest<Name extends AwsActionName>(action: LoadBalancerAction, _name: Name): AwsRequests[Name] {
  return action.parameters as unknown as AwsRequests[Name];
}

/** Returns AWS's answer with every field optional. */
function toPartial<Answer>(result: unknown): Partial<Answer> {
  return typeof result === "object" && result !== null ? result : {};
}

function updateLoadBalancerState(
  state: AwsLoadBalancerState,
  change: (network: NetworkLoadBalancerState) => NetworkLoadBalancerState,
): AwsLoadBalancerState {
  return state.network === undefined ? state : { ...state, network: change(state.network) };
}

function updateDescription(
  state: AwsLoadBalancerState,
  changed: NetworkLoadBalancerState["loadBalancer"],
): AwsLoadBalancerState {
  return updateLoadBalancerState(state, (network) => ({
    ...network,
    loadBalancer: { ...network.loadBalancer, ...changed },
  }));
}

function updateTargetGroup(
  state: AwsLoadBalancerState,
  arn: string | undefined,
  change: (group: TargetGroupState) => TargetGroupState,
): AwsLoadBalancerState {
  const targetGroups = state.targetGroups.map((each) =>
    each.group.TargetGroupArn === arn ? change(each) : each,
  );
  return { ...state, targetGroups };
}

function updateTags(
  state: AwsLoadBalancerState,
  arns: readonly string[],
  change: (tags: Pairs) => Pairs,
): AwsLoadBalancerState {
  const tagResource = <Resource extends { readonly tags: Pairs }>(
    resource: Resource,
    arn: string | undefined,
  ): Resource =>
    arn !== undefined && arns.includes(arn) ? { ...resource, tags: change(resource.tags) } : resource;
  const targetGroups = state.targetGroups.map((each) => tagResource(each, each.group.TargetGroupArn));
  return updateLoadBalancerState({ ...state, targetGroups }, (network) => ({
    ...tagResource(network, network.loadBalancer.LoadBalancerArn),
    listeners: network.listeners.map((each) => tagResource(each, each.listener.ListenerArn)),
  }));
}

/** Updates `LoadBalancerArns` of the target groups from the load balancer's listeners. */
function updateAttachments(state: AwsLoadBalancerState): AwsLoadBalancerState {
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

function detachTargetGroup(each: TargetGroupState, arn: string | undefined): TargetGroupState {
  const others = (each.group.LoadBalancerArns ?? []).filter((other) => other !== arn);
  return { ...each, group: { ...each.group, LoadBalancerArns: others } };
}

/** Removes certificates and policy: a listener without TLS has neither. */
function removeTls(changed: Listener): Listener {
  if (changed.Protocol === "TLS" || changed.Protocol === undefined) return omitUndefined(changed);
  return { ...omitUndefined(changed), Certificates: [], SslPolicy: undefined };
}

function isSame(one: TargetDescription, other: TargetDescription, { group }: TargetGroupState): boolean {
  return one.Id === other.Id && (one.Port ?? group.Port) === (other.Port ?? group.Port);
}

function toPairs(list: readonly Partial<Tag>[] = []): Pairs {
  return Object.fromEntries(list.flatMap(({ Key, Value = "" }) => (Key ? [[Key, Value]] : [])));
}

function omitUndefined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

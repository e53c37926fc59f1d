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
import type { AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
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
  { action, parameters }: LoadBalancerAction,
  result: unknown,
): AwsLoadBalancerState {
  if (!isNetworkAction(action)) return state;
  // TypeScript does not relate an action's name to its parameters and answer; `never` fits all of them.
  const handle: ResultHandler = RESULT_HANDLERS[action];
  return handle(state, parameters as never, toPartial<never>(result));
}

/** The actions that change the state, with the types of AWS's answers: `object` if nothing of the answer is used. */
interface Answers {
  "elbv2:CreateLoadBalancer": CreateLoadBalancerOutput;
  "elbv2:DeleteLoadBalancer": object;
  "elbv2:SetSecurityGroups": SetSecurityGroupsOutput;
  "elbv2:SetSubnets": SetSubnetsOutput;
  "elbv2:SetIpAddressType": SetIpAddressTypeOutput;
  "elbv2:ModifyLoadBalancerAttributes": object;
  "elbv2:AddTags": object;
  "elbv2:RemoveTags": object;
  "elbv2:CreateListener": CreateListenerOutput;
  "elbv2:ModifyListener": ModifyListenerOutput;
  "elbv2:DeleteListener": object;
  "elbv2:CreateTargetGroup": CreateTargetGroupOutput;
  "elbv2:ModifyTargetGroup": ModifyTargetGroupOutput;
  "elbv2:ModifyTargetGroupAttributes": object;
  "elbv2:DeleteTargetGroup": object;
  "elbv2:RegisterTargets": object;
  "elbv2:DeregisterTargets": object;
}

/** Returns the state after one action. */
type ResultHandler<Request = never, Answer = never> = (
  state: AwsLoadBalancerState,
  request: Request,
  answer: Answer,
) => AwsLoadBalancerState;

/** AWS's answers are not validated, so every field is optional. */
const RESULT_HANDLERS: {
  readonly [Name in keyof Answers]: ResultHandler<AwsRequests[Name], Partial<Answers[Name]>>;
} = {
  "elbv2:CreateLoadBalancer": (state, { Tags }, { LoadBalancers }) => {
    const [loadBalancer] = LoadBalancers ?? [];
    if (loadBalancer === undefined) return state;
    const network = { loadBalancer, tags: toPairs(Tags), attributes: {}, listeners: [] };
    return { ...state, network };
  },
  "elbv2:DeleteLoadBalancer": (state, { LoadBalancerArn }) => {
    const targetGroups = state.targetGroups.map((each) => detachTargetGroup(each, LoadBalancerArn));
    return { ...state, network: undefined, targetGroups };
  },
  "elbv2:SetSecurityGroups": (state, { SecurityGroups }, { SecurityGroupIds = SecurityGroups ?? [] }) =>
    updateDescription(state, { SecurityGroups: SecurityGroupIds }),
  "elbv2:SetSubnets": (state, { IpAddressType, EnablePrefixForIpv6SourceNat }, answer) =>
    updateDescription(state, {
      ...omitUndefined({ IpAddressType, EnablePrefixForIpv6SourceNat }),
      ...omitUndefined({
        AvailabilityZones: answer.AvailabilityZones,
        IpAddressType: answer.IpAddressType,
      }),
    }),
  "elbv2:SetIpAddressType": (state, { IpAddressType }, answer) =>
    updateDescription(state, omitUndefined({ IpAddressType: answer.IpAddressType ?? IpAddressType })),
  "elbv2:ModifyLoadBalancerAttributes": (state, { Attributes }) =>
    updateLoadBalancerState(state, (network) => ({
      ...network,
      attributes: { ...network.attributes, ...toPairs(Attributes) },
    })),
  "elbv2:AddTags": (state, { ResourceArns = [], Tags }) =>
    updateTags(state, ResourceArns, (tags) => ({ ...tags, ...toPairs(Tags) })),
  "elbv2:RemoveTags": (state, { ResourceArns = [], TagKeys = [] }) =>
    updateTags(state, ResourceArns, (tags) =>
      Object.fromEntries(Object.entries(tags).filter(([key]) => !TagKeys.includes(key))),
    ),
  "elbv2:CreateListener": (state, { Tags }, { Listeners }) => {
    const [listener] = Listeners ?? [];
    if (listener === undefined) return state;
    return updateListeners(state, (listeners) => [...listeners, { listener, tags: toPairs(Tags) }]);
  },
  "elbv2:ModifyListener": (state, { ListenerArn, ...changed }, { Listeners }) => {
    const [answer] = Listeners ?? [];
    return updateListeners(state, (listeners) =>
      listeners.map((each) =>
        each.listener.ListenerArn === ListenerArn
          ? { ...each, listener: { ...each.listener, ...toListenerChange(changed), ...answer } }
          : each,
      ),
    );
  },
  "elbv2:DeleteListener": (state, { ListenerArn }) =>
    updateListeners(state, (listeners) =>
      listeners.filter(({ listener }) => listener.ListenerArn !== ListenerArn),
    ),
  "elbv2:CreateTargetGroup": (state, { Tags }, { TargetGroups }) => {
    const [group] = TargetGroups ?? [];
    if (group === undefined) return state;
    const created = { group, tags: toPairs(Tags), attributes: {}, targets: [] };
    return { ...state, targetGroups: [...state.targetGroups, created] };
  },
  "elbv2:ModifyTargetGroup": (state, { TargetGroupArn, ...changed }, { TargetGroups }) => {
    const [answer] = TargetGroups ?? [];
    return updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
      ...targetGroup,
      group: { ...targetGroup.group, ...omitUndefined(changed), ...answer },
    }));
  },
  "elbv2:ModifyTargetGroupAttributes": (state, { TargetGroupArn, Attributes }) =>
    updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
      ...targetGroup,
      attributes: { ...targetGroup.attributes, ...toPairs(Attributes) },
    })),
  "elbv2:DeleteTargetGroup": (state, { TargetGroupArn }) => {
    const targetGroups = state.targetGroups.filter(({ group }) => group.TargetGroupArn !== TargetGroupArn);
    return { ...state, targetGroups };
  },
  "elbv2:RegisterTargets": (state, { TargetGroupArn, Targets = [] }) =>
    updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
      ...targetGroup,
      targets: [...excludeTargets(targetGroup, Targets), ...Targets],
    })),
  "elbv2:DeregisterTargets": (state, { TargetGroupArn, Targets = [] }) =>
    updateTargetGroup(state, TargetGroupArn, (targetGroup) => ({
      ...targetGroup,
      targets: excludeTargets(targetGroup, Targets),
    })),
};

function isNetworkAction(action: string): action is keyof Answers {
  return Object.hasOwn(RESULT_HANDLERS, action);
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

/** Changes the listeners, and with them which target groups the load balancer uses. */
function updateListeners(
  state: AwsLoadBalancerState,
  change: (listeners: NetworkLoadBalancerState["listeners"]) => NetworkLoadBalancerState["listeners"],
): AwsLoadBalancerState {
  return updateAttachments(
    updateLoadBalancerState(state, (network) => ({ ...network, listeners: change(network.listeners) })),
  );
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

/** Returns the changed fields of a listener. Without TLS it has no certificates and no policy. */
function toListenerChange(changed: Listener): Listener {
  if (changed.Protocol === "TLS" || changed.Protocol === undefined) return omitUndefined(changed);
  return { ...omitUndefined(changed), Certificates: [], SslPolicy: undefined };
}

/** Returns the registered targets of a group without the given ones. */
function excludeTargets({ group, targets }: TargetGroupState, excluded: readonly TargetDescription[]) {
  const getPort = ({ Port }: TargetDescription) => Port ?? group.Port;
  return targets.filter(
    (each) => !excluded.some((target) => target.Id === each.Id && getPort(target) === getPort(each)),
  );
}

function toPairs(list: readonly Partial<Tag>[] = []): Pairs {
  return Object.fromEntries(list.flatMap(({ Key, Value = "" }) => (Key ? [[Key, Value]] : [])));
}

function omitUndefined<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

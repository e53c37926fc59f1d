import type { ListenerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import { DEFAULT_ATTRIBUTES } from "#clouds/aws/load-balancers/classic/attributes.ts";
import { isTls } from "#clouds/aws/load-balancers/classic/listeners.ts";
import { DEFAULT_TLS_POLICY } from "#clouds/aws/load-balancers/classic/policies.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * Returns the state of a classic load balancer after an action, without reading it again. Other actions leave
 * it unchanged.
 */
export function applyClassicResult(
  classic: ClassicLoadBalancerState | undefined,
  { action, parameters }: LoadBalancerAction,
  result: unknown,
): ClassicLoadBalancerState | undefined {
  if (action === "elb:CreateLoadBalancer") return applyCreate(parameters as unknown as CreateRequest, result);
  if (action === "elb:DeleteLoadBalancer" || classic === undefined) return undefined;
  const apply = Object.hasOwn(APPLIERS, action) ? APPLIERS[action as ActionName] : undefined;
  // Each function is stored under the operation whose request it takes.
  return apply === undefined ? classic : (apply as ApplyAction<never>)(classic, parameters as never);
}

type CreateRequest = AwsRequests["elb:CreateLoadBalancer"];
type Description = ClassicLoadBalancerState["loadBalancer"];

type ActionName = Exclude<
  Extract<AwsActionName, `elb:${string}`>,
  "elb:CreateLoadBalancer" | "elb:DeleteLoadBalancer"
>;
type ApplyAction<Request> = (state: ClassicLoadBalancerState, request: Request) => ClassicLoadBalancerState;

const APPLIERS: { readonly [Name in ActionName]: ApplyAction<AwsRequests[Name]> } = {
  "elb:AddTags": (state, { Tags: tags = [] }) => ({
    ...state,
    tags: { ...state.tags, ...Object.fromEntries(tags.map(({ Key, Value = "" }) => [Key, Value])) },
  }),
  "elb:RemoveTags": (state, { Tags: tags = [] }) => {
    const removedKeys = new Set(tags.map(({ Key }) => Key));
    const remaining = Object.entries(state.tags).filter(([key]) => !removedKeys.has(key));
    return { ...state, tags: Object.fromEntries(remaining) };
  },
  "elb:RegisterInstancesWithLoadBalancer": (state, { Instances: added = [] }) => {
    const { Instances: current = [] } = state.loadBalancer;
    return updateDescription(state, { Instances: [...removeInstances(current, added), ...added] });
  },
  "elb:DeregisterInstancesFromLoadBalancer": (state, { Instances: removed = [] }) =>
    updateDescription(state, { Instances: removeInstances(state.loadBalancer.Instances ?? [], removed) }),
  "elb:CreateLoadBalancerPolicy": (state, { PolicyName, PolicyTypeName }) => ({
    ...state,
    policies: [...state.policies, { PolicyName, PolicyTypeName }],
  }),
  "elb:SetLoadBalancerPoliciesForBackendServer": (state, { InstancePort, PolicyNames: names = [] }) => {
    const { BackendServerDescriptions: current = [] } = state.loadBalancer;
    const others = current.filter((each) => each.InstancePort !== InstancePort);
    const changed = names.length === 0 ? [] : [{ InstancePort, PolicyNames: [...names] }];
    return updateDescription(state, { BackendServerDescriptions: [...others, ...changed] });
  },
  "elb:SetLoadBalancerPoliciesOfListener": (state, { LoadBalancerPort, PolicyNames: names = [] }) =>
    updateListener(state, LoadBalancerPort, (each) => ({ ...each, PolicyNames: [...names] })),
  "elb:SetLoadBalancerListenerSSLCertificate": (state, { LoadBalancerPort, SSLCertificateId }) =>
    updateListener(state, LoadBalancerPort, (each) =>
      each.Listener === undefined ? each : { ...each, Listener: { ...each.Listener, SSLCertificateId } },
    ),
  "elb:AttachLoadBalancerToSubnets": (state, { Subnets: added = [] }) =>
    updateDescription(state, { Subnets: [...new Set([...(state.loadBalancer.Subnets ?? []), ...added])] }),
  "elb:DetachLoadBalancerFromSubnets": (state, { Subnets: removed = [] }) =>
    updateDescription(state, {
      Subnets: (state.loadBalancer.Subnets ?? []).filter((id) => !removed.includes(id)),
    }),
  "elb:CreateLoadBalancerListeners": (state, { Listeners: added = [] }) =>
    updateDescription(state, {
      ListenerDescriptions: [
        ...(state.loadBalancer.ListenerDescriptions ?? []),
        ...added.map(toListenerDescription),
      ],
    }),
  "elb:DeleteLoadBalancerListeners": (state, { LoadBalancerPorts: removedPorts = [] }) =>
    updateDescription(state, {
      ListenerDescriptions: (state.loadBalancer.ListenerDescriptions ?? []).filter(
        ({ Listener: listener }) => !removedPorts.includes(listener?.LoadBalancerPort ?? 0),
      ),
    }),
  "elb:ApplySecurityGroupsToLoadBalancer": (state, { SecurityGroups: groups = [] }) =>
    updateDescription(state, { SecurityGroups: [...groups] }),
  "elb:ConfigureHealthCheck": (state, { HealthCheck }) =>
    HealthCheck === undefined ? state : updateDescription(state, { HealthCheck }),
  "elb:ModifyLoadBalancerAttributes": (state, { LoadBalancerAttributes: changed = {} }) => ({
    ...state,
    attributes: { ...state.attributes, ...changed },
  }),
};

/** Returns what AWS creates, as far as it is known; the rest has default values. */
function applyCreate(request: CreateRequest, result: unknown): ClassicLoadBalancerState {
  const { LoadBalancerName, Listeners = [], Subnets = [], SecurityGroups = [], Tags = [] } = request;
  const { DNSName } = result as { readonly DNSName?: string };
  return {
    loadBalancer: {
      LoadBalancerName,
      ...(DNSName === undefined ? {} : { DNSName }),
      Scheme: request.Scheme ?? "internet-facing",
      ListenerDescriptions: Listeners.map(toListenerDescription),
      Subnets: [...Subnets],
      SecurityGroups: [...SecurityGroups],
      Instances: [],
      BackendServerDescriptions: [],
    },
    tags: Object.fromEntries(Tags.map(({ Key, Value = "" }) => [Key, Value])),
    attributes: DEFAULT_ATTRIBUTES,
    policies: [],
  };
}

function toListenerDescription(listener: NonNullable<ListenerDescription["Listener"]>): ListenerDescription {
  return { Listener: listener, PolicyNames: isTls(listener) ? [DEFAULT_TLS_POLICY] : [] };
}

function updateDescription(
  state: ClassicLoadBalancerState,
  change: Partial<Description>,
): ClassicLoadBalancerState {
  return { ...state, loadBalancer: { ...state.loadBalancer, ...change } };
}

function updateListener(
  state: ClassicLoadBalancerState,
  port: number | undefined,
  change: (description: ListenerDescription) => ListenerDescription,
): ClassicLoadBalancerState {
  return updateDescription(state, {
    ListenerDescriptions: (state.loadBalancer.ListenerDescriptions ?? []).map((each) =>
      each.Listener?.LoadBalancerPort === port ? change(each) : each,
    ),
  });
}

function removeInstances<Item extends { readonly InstanceId?: string | undefined }>(
  items: readonly Item[],
  removed: readonly Item[],
): Item[] {
  return items.filter(({ InstanceId: id }) => !removed.some((each) => each.InstanceId === id));
}

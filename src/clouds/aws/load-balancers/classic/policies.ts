import type { Listener, PolicyDescription } from "@aws-sdk/client-elastic-load-balancing";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import { isTls } from "#clouds/aws/load-balancers/classic/listeners.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * The stock controller's name of the proxy protocol policy, which sends the client's address to the
 * instances.
 */
export const PROXY_PROTOCOL_POLICY = "k8s-proxyprotocol-enabled";

/** Prefix of the stock controller's names of TLS policies; the name of AWS's own policy follows. */
export const TLS_POLICY_PREFIX = "k8s-SSLNegotiationPolicy-";

/** AWS's default policy of a TLS listener. */
export const DEFAULT_TLS_POLICY = "ELBSecurityPolicy-2016-08";

/** Enables the proxy protocol on all served ports, or disables it on all. Other policies stay. */
export function planProxyProtocol(
  state: ClassicLoadBalancerState,
  listeners: readonly Listener[],
  isWanted: boolean,
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const actual = readBackendPolicies(state);
  const changed = [...listInstancePorts(listeners)].filter(
    (port) => isWanted !== (actual.get(port) ?? []).includes(PROXY_PROTOCOL_POLICY),
  );
  const needsPolicy = isWanted && changed.length > 0 && !hasPolicy(state.policies, PROXY_PROTOCOL_POLICY);
  return [
    ...(needsPolicy
      ? [
          buildAction("elb:CreateLoadBalancerPolicy", name, {
            LoadBalancerName: name,
            PolicyName: PROXY_PROTOCOL_POLICY,
            PolicyTypeName: "ProxyProtocolPolicyType",
            PolicyAttributes: [{ AttributeName: "ProxyProtocol", AttributeValue: "true" }],
          }),
        ]
      : []),
    ...changed.map((port) => {
      const others = (actual.get(port) ?? []).filter((each) => each !== PROXY_PROTOCOL_POLICY);
      return buildAction("elb:SetLoadBalancerPoliciesForBackendServer", name, {
        LoadBalancerName: name,
        InstancePort: port,
        PolicyNames: isWanted ? [...others, PROXY_PROTOCOL_POLICY] : others,
      });
    }),
  ];
}

/**
 * Removes the proxy protocol from ports without a listener, where it would return with a new one. AWS keeps
 * the policies of such a port and allows their removal. Whether it accepts a list of other policies there is
 * unknown, so ports with others are left unchanged.
 */
export function planUnservedPorts(
  state: ClassicLoadBalancerState,
  listeners: readonly Listener[],
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const served = listInstancePorts(listeners);
  return [...readBackendPolicies(state)]
    .filter(([port, names]) => !served.has(port) && names.length === 1 && names[0] === PROXY_PROTOCOL_POLICY)
    .map(([port]) =>
      buildAction("elb:SetLoadBalancerPoliciesForBackendServer", name, {
        LoadBalancerName: name,
        InstancePort: port,
        PolicyNames: [],
      }),
    );
}

function readBackendPolicies({
  loadBalancer,
}: ClassicLoadBalancerState): ReadonlyMap<number, readonly string[]> {
  return new Map(
    (loadBalancer.BackendServerDescriptions ?? []).map(
      ({ InstancePort: port = 0, PolicyNames: names = [] }) => [port, names],
    ),
  );
}

function listInstancePorts(listeners: readonly Listener[]): ReadonlySet<number> {
  return new Set(listeners.map(({ InstancePort: port = 0 }) => port));
}

/**
 * Sets the desired AWS policy on TLS listeners. If none is desired any more, they return to AWS's default.
 * Listeners that never had a policy of ours are left unchanged.
 */
export function planTlsPolicy(
  state: ClassicLoadBalancerState,
  desired: string | undefined,
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const policy = `${TLS_POLICY_PREFIX}${desired ?? DEFAULT_TLS_POLICY}`;
  const changed = (state.loadBalancer.ListenerDescriptions ?? []).filter(
    ({ Listener: listener, PolicyNames: names = [] }) =>
      listener !== undefined &&
      isTls(listener) &&
      !names.includes(policy) &&
      (desired !== undefined || names.some((each) => each.startsWith(TLS_POLICY_PREFIX))),
  );
  if (changed.length === 0) return [];
  return [
    ...(hasPolicy(state.policies, policy)
      ? []
      : [
          buildAction("elb:CreateLoadBalancerPolicy", name, {
            LoadBalancerName: name,
            PolicyName: policy,
            PolicyTypeName: TLS_POLICY_TYPE,
            PolicyAttributes: [
              { AttributeName: "Reference-Security-Policy", AttributeValue: desired ?? DEFAULT_TLS_POLICY },
            ],
          }),
        ]),
    ...changed.map(({ Listener: listener, PolicyNames: names = [] }) =>
      buildAction("elb:SetLoadBalancerPoliciesOfListener", name, {
        LoadBalancerName: name,
        LoadBalancerPort: listener?.LoadBalancerPort,
        PolicyNames: [...names.filter((each) => !isOfTls(state.policies, each)), policy],
      }),
    ),
  ];
}

const TLS_POLICY_TYPE = "SSLNegotiationPolicyType";

function hasPolicy(policies: readonly PolicyDescription[], name: string): boolean {
  return policies.some(({ PolicyName }) => PolicyName === name);
}

/** Whether a listener's only TLS policy is this one; stickiness policies may exist too. */
function isOfTls(policies: readonly PolicyDescription[], name: string): boolean {
  const policy = policies.find(({ PolicyName }) => PolicyName === name);
  return policy === undefined
    ? name.startsWith("ELBSecurityPolicy-") || name.startsWith(TLS_POLICY_PREFIX)
    : policy.PolicyTypeName === TLS_POLICY_TYPE;
}

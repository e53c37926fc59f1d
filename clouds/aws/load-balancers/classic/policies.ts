import type { Listener, PolicyDescription } from "@aws-sdk/client-elastic-load-balancing";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { isTls } from "#clouds/aws/load-balancers/classic/listeners.ts";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** The stock controller's name of the policy that puts the client's address in front of what instances get. */
export const PROXY_PROTOCOL_POLICY = "k8s-proxyprotocol-enabled";

/** How the stock controller's names of policies of TLS begin; what follows is the name of AWS's own policy. */
export const TLS_POLICY_PREFIX = "k8s-SSLNegotiationPolicy-";

/** What AWS gives a listener of TLS for which nothing is asked. */
export const DEFAULT_TLS_POLICY = "ELBSecurityPolicy-2016-08";

/** Has instances told the client's address by the proxy protocol on all ports that are served, or on none. Other policies stay. */
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
  const needsPolicy = isWanted && changed.length > 0 && !has(state.policies, PROXY_PROTOCOL_POLICY);
  return [
    ...(needsPolicy
      ? [
          awsAction("elb:CreateLoadBalancerPolicy", name, {
            LoadBalancerName: name,
            PolicyName: PROXY_PROTOCOL_POLICY,
            PolicyTypeName: "ProxyProtocolPolicyType",
            PolicyAttributes: [{ AttributeName: "ProxyProtocol", AttributeValue: "true" }],
          }),
        ]
      : []),
    ...changed.map((port) => {
      const others = (actual.get(port) ?? []).filter((each) => each !== PROXY_PROTOCOL_POLICY);
      return awsAction("elb:SetLoadBalancerPoliciesForBackendServer", name, {
        LoadBalancerName: name,
        InstancePort: port,
        PolicyNames: isWanted ? [...others, PROXY_PROTOCOL_POLICY] : others,
      });
    }),
  ];
}

/**
 * Takes the proxy protocol off ports that have no listener any more, with which it would come back. AWS keeps the policies of such a
 * port and lets them be taken off; whether it accepts a list of others there is not known, so a port with others is left alone.
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
      awsAction("elb:SetLoadBalancerPoliciesForBackendServer", name, {
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
 * Has listeners of TLS follow AWS's policy of that name. Where none is wanted any more they follow AWS's default, which is what they
 * had at first; where none ever was they are left alone.
 */
export function planTlsPolicy(
  state: ClassicLoadBalancerState,
  wanted: string | undefined,
): readonly LoadBalancerAction[] {
  const name = state.loadBalancer.LoadBalancerName ?? "";
  const policy = `${TLS_POLICY_PREFIX}${wanted ?? DEFAULT_TLS_POLICY}`;
  const changed = (state.loadBalancer.ListenerDescriptions ?? []).filter(
    ({ Listener: listener, PolicyNames: names = [] }) =>
      listener !== undefined &&
      isTls(listener) &&
      !names.includes(policy) &&
      (wanted !== undefined || names.some((each) => each.startsWith(TLS_POLICY_PREFIX))),
  );
  if (changed.length === 0) return [];
  return [
    ...(has(state.policies, policy)
      ? []
      : [
          awsAction("elb:CreateLoadBalancerPolicy", name, {
            LoadBalancerName: name,
            PolicyName: policy,
            PolicyTypeName: TLS_POLICY_TYPE,
            PolicyAttributes: [
              { AttributeName: "Reference-Security-Policy", AttributeValue: wanted ?? DEFAULT_TLS_POLICY },
            ],
          }),
        ]),
    ...changed.map(({ Listener: listener, PolicyNames: names = [] }) =>
      awsAction("elb:SetLoadBalancerPoliciesOfListener", name, {
        LoadBalancerName: name,
        LoadBalancerPort: listener?.LoadBalancerPort,
        PolicyNames: [...names.filter((each) => !isOfTls(state.policies, each)), policy],
      }),
    ),
  ];
}

const TLS_POLICY_TYPE = "SSLNegotiationPolicyType";

function has(policies: readonly PolicyDescription[], name: string): boolean {
  return policies.some(({ PolicyName }) => PolicyName === name);
}

/** A listener follows one policy of TLS; those of stickiness may stand beside it. */
function isOfTls(policies: readonly PolicyDescription[], name: string): boolean {
  const policy = policies.find(({ PolicyName }) => PolicyName === name);
  return policy === undefined
    ? name.startsWith("ELBSecurityPolicy-") || name.startsWith(TLS_POLICY_PREFIX)
    : policy.PolicyTypeName === TLS_POLICY_TYPE;
}

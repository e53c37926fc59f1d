import type { ClusterObject } from "#core/cluster-object.ts";
import type { DecisionContext, Subject } from "#core/controller.ts";
import type { CloudAction, Decision } from "#core/decision.ts";
import { exposedServices } from "#core/digitalocean/exposed-service.ts";
import { type FirewallAnswer, firewallController } from "#core/digitalocean/firewall/controller.ts";
import {
  EVERYWHERE,
  type Firewall,
  type FirewallRule,
  type FirewallState,
  type KnownLoadBalancer,
  OUTBOUND,
} from "#core/digitalocean/firewall/state.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";

export const NAME = "k8s-public";
export const TAG = "k8s-workers";
export const BALANCER = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

/** The network load balancer of that ID. */
export const KNOWN: KnownLoadBalancer = {
  ...{ id: BALANCER, type: "REGIONAL_NETWORK", network: "EXTERNAL", healthPort: 10_256 },
};

export const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  cloud: { provider: "digitalocean", publicAccessFirewall: { name: NAME, tags: [TAG] } },
};

export const CLUSTER: ClusterObject = {
  metadata: {
    name: "kube-system",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
};

/** The properties of a raw Service. */
export interface RawTraits {
  readonly annotations?: Record<string, unknown>;
  readonly [field: string]: unknown;
}

/** Builds a Service as on the API server. */
export function buildRawService(name: string, { annotations, ...spec }: RawTraits): unknown {
  const metadata = {
    ...{ namespace: "default", name, uid: `uid-${name}`, resourceVersion: "1" },
    ...{ creationTimestamp: "2026-01-01T00:00:00Z" },
    ...(annotations === undefined ? {} : { annotations }),
  };
  return { apiVersion: "v1", kind: "Service", metadata, spec };
}

/** Builds a Service of type NodePort with these node ports; TCP unless the text begins with `udp/`. */
export function buildNodePortService(
  name: string,
  ports: readonly (number | string)[],
  traits: RawTraits = {},
): unknown {
  return buildRawService(name, {
    type: "NodePort",
    ports: ports.map((each) => portOf(each, "nodePort")),
    ...traits,
  });
}

/** Builds a Service of type LoadBalancer with these ports. */
export function buildBalancedService(
  name: string,
  ports: readonly (number | string)[],
  traits: RawTraits = {},
): unknown {
  return buildRawService(name, {
    type: "LoadBalancer",
    ports: ports.map((each) => portOf(each, "port")),
    ...traits,
  });
}

function portOf(text: number | string, key: "port" | "nodePort"): unknown {
  const [number, protocol = "tcp"] = String(text).split("/").reverse();
  return { port: 1, [key]: Number(number), protocol: protocol.toUpperCase() };
}

export function open(ports: number, protocol = "tcp"): FirewallRule {
  return { protocol, ports: String(ports), addresses: [...EVERYWHERE], loadBalancers: [] };
}

export function buildRule(ports: number, ...loadBalancers: string[]): FirewallRule {
  return { protocol: "tcp", ports: String(ports), addresses: [], loadBalancers };
}

export function buildFirewall(traits: Partial<Firewall> = {}): Firewall {
  return { id: "fw-1", tags: [TAG], machines: 0, inbound: [], outbound: [...OUTBOUND], ...traits };
}

export function buildObserved(state: Partial<FirewallState> = {}): FirewallAnswer {
  return { kind: "observed", state: { firewalls: [], loadBalancers: [], ...state } };
}

export function buildContext(
  services: readonly unknown[],
  more: Partial<DecisionContext> = {},
): DecisionContext {
  const items = services.flatMap((each) => exposedServices.project(each) ?? []);
  return {
    reason: "refresh",
    now: new Date(0),
    related: { services: { resourceVersion: "1", items } },
    settings: SETTINGS,
    count: { kind: "count", count: services.length },
    ...more,
  };
}

export function decide(answer: FirewallAnswer | undefined, context: DecisionContext): Decision {
  return decideSubject({ object: CLUSTER, answer, hint: undefined }, context);
}

function decideSubject(subject: Subject<ClusterObject, FirewallAnswer>, context: DecisionContext): Decision {
  const plan = firewallController.decide([subject], context);
  const [decision] = plan.kind === "each" ? plan.decisions : [];
  if (decision === undefined) throw new Error("nothing was decided");
  return decision;
}

/**
 * Decides, applies the decision as the cloud would, and repeats. Returns all actions and the final decision.
 */
export function carryOut(answer: FirewallAnswer, context: DecisionContext, result?: Firewall) {
  const actions: CloudAction[] = [];
  let subject: Subject<ClusterObject, FirewallAnswer> = { object: CLUSTER, answer, hint: undefined };
  for (let round = 0; round < 5; round += 1) {
    const decision = decideSubject(subject, context);
    if (decision.kind !== "change") return { actions, decision };
    for (const write of decision.writes) {
      if (write.on !== "cloud") throw new Error("a write to the cluster");
      actions.push(write);
      const { name: _, ...made } = write.parameters as { name: string } & Firewall;
      const done = result ?? { ...made, id: "fw-1", machines: 0 };
      subject = firewallController.applyResult?.(subject, { write, result: done }) ?? subject;
    }
  }
  throw new Error("it never ends");
}

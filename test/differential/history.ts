import { createDraw, type Draw } from "#test/two-actors/draw.ts";

/** How the kubelet of a node registers it. */
export interface NodeSpec {
  /** The flag --provider-id: the instance's own, or none. */
  readonly hasProviderID: boolean;
  /** The value of --node-ip is the instance's address. */
  readonly hasNodeIP: boolean;
  /** The instance has a public address. */
  readonly isPublic: boolean;
  /** The kubelet has registered taints of others, too. */
  readonly isTainted: boolean;
}

/** A port of a Service, with its node port: the API server would choose another one on each side. */
export interface ServicePort {
  readonly port: number;
  readonly nodePort: number;
  readonly protocol: "TCP" | "UDP";
}

/** The whole request of a Service; a change replaces all of it. */
export interface ServiceSpec {
  readonly type: "LoadBalancer" | "ClusterIP";
  /** Without the prefix that they share. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: readonly ServicePort[];
  readonly ranges: readonly string[];
  readonly isLocal: boolean;
  readonly healthCheckNodePort: number;
}

/** What happens to both sides. Numbers name nodes and Services; none is used again after its end. */
export type Happening =
  | { readonly do: "join node"; readonly node: number; readonly spec: NodeSpec }
  | { readonly do: "set readiness"; readonly node: number; readonly status: "True" | "False" | "Unknown" }
  | { readonly do: "stop instance" | "start instance"; readonly node: number }
  | { readonly do: "terminate instance" | "delete node"; readonly node: number }
  | { readonly do: "give public address" | "take public address"; readonly node: number }
  | { readonly do: "tag instance"; readonly node: number; readonly value: string }
  | {
      readonly do: "label node";
      readonly node: number;
      readonly label: string;
      readonly value: string | null;
    }
  | { readonly do: "taint for the autoscaler" | "untaint"; readonly node: number }
  | { readonly do: "create Service" | "change Service"; readonly service: number; readonly spec: ServiceSpec }
  | { readonly do: "delete Service" | "touch Service"; readonly service: number }
  | {
      readonly do: "disturb the cloud";
      readonly operation: "change" | "describe" | "*";
      readonly failure: "throttle" | "error" | "reset" | "lose-answer";
      readonly count: number;
    }
  | { readonly do: "calm the cloud" };

/** A happening, and its delay after the previous one. */
export type Step = Happening & { readonly afterMs: number };

/** What a history is about. */
export type Topic = "nodes" | "lifecycle" | "services" | "faults";

export const TOPICS: readonly Topic[] = ["nodes", "lifecycle", "services", "faults"];

/** Nodes and Services that live at the same time, at most. */
const MAX_NODES = 6;
const MAX_SERVICES = 4;

const EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers";
const DELAYS = [0, 0, 100, 300, 300, 1_000, 2_500] as const;
/** A delay after which most of the work is done. */
const PAUSE_MS = 8_000;

interface LivingNode {
  readonly node: number;
  isStopped: boolean;
  isPublic: boolean;
}

/** Creates the history of a seed: the same in each run. */
export function createHistory(seed: number, length: number, topics: readonly Topic[]): readonly Step[] {
  const draw = createDraw(seed);
  const mayEndStopped = topics.includes("services") ? !draw.chance(0.75) : true;
  const nodes: LivingNode[] = [];
  const services = new Map<number, ServiceSpec>();
  let lastNode = 0;
  let lastService = 0;
  let isDisturbed = false;

  const join = (): Happening => {
    const node = ++lastNode;
    const spec = {
      hasProviderID: draw.chance(0.6),
      hasNodeIP: draw.chance(0.3),
      isPublic: draw.chance(0.3),
      isTainted: draw.chance(0.3),
    };
    nodes.push({ node, isStopped: false, isPublic: spec.isPublic });
    return { do: "join node", node, spec };
  };
  const end = (one: LivingNode, what: "terminate instance" | "delete node"): Happening => {
    nodes.splice(nodes.indexOf(one), 1);
    return { do: what, node: one.node };
  };
  const changeNode = (one: LivingNode): Happening => {
    const { node } = one;
    const kind = draw.one(["public", "label", "zone", "tag", "taint", "untaint"]);
    if (kind === "public") {
      one.isPublic = !one.isPublic;
      return { do: one.isPublic ? "give public address" : "take public address", node };
    }
    if (kind === "label")
      return { do: "label node", node, label: EXCLUDE, value: draw.one(["", null, null]) };
    if (kind === "zone") {
      const label = draw.one(["topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"]);
      return { do: "label node", node, label, value: draw.one(["elsewhere", null]) };
    }
    if (kind === "tag") return { do: "tag instance", node, value: draw.one(["a", "b"]) };
    return { do: kind === "taint" ? "taint for the autoscaler" : "untaint", node };
  };
  const liveOn = (one: LivingNode): Happening => {
    const { node } = one;
    if (one.isStopped) {
      one.isStopped = false;
      return { do: "start instance", node };
    }
    const kind = draw.one(["readiness", "readiness", "stop", "stop", "terminate", "delete"]);
    if (kind === "readiness")
      return { do: "set readiness", node, status: draw.one(["True", "False", "Unknown"]) };
    if (kind === "stop") {
      one.isStopped = true;
      return { do: "stop instance", node };
    }
    return end(one, kind === "delete" ? "delete node" : "terminate instance");
  };
  const serve = (): Happening => {
    const [service] = services.size === 0 ? [] : [draw.one([...services.keys()] as [number, ...number[]])];
    const old = service === undefined ? undefined : services.get(service);
    if (service === undefined || old === undefined || (services.size < MAX_SERVICES && draw.chance(0.35))) {
      const created = ++lastService;
      const spec = drawService(draw, created, undefined);
      services.set(created, spec);
      return { do: "create Service", service: created, spec };
    }
    if (draw.chance(0.2)) {
      services.delete(service);
      return { do: "delete Service", service };
    }
    const spec = drawService(draw, service, old);
    services.set(service, spec);
    return { do: "change Service", service, spec };
  };
  const disturb = (): Happening => {
    isDisturbed = !isDisturbed;
    if (!isDisturbed) return { do: "calm the cloud" };
    return {
      do: "disturb the cloud",
      operation: draw.one(["change", "change", "describe", "*"]),
      failure: draw.one(["throttle", "throttle", "error", "reset", "lose-answer"]),
      count: Math.floor(draw.between(1, 12)),
    };
  };
  const kinds = topics.flatMap((topic) => Array.from({ length: topic === "services" ? 3 : 1 }, () => topic));

  const steps = Array.from({ length }, (_, index): Step => {
    const afterMs = draw.chance(0.04) ? PAUSE_MS : draw.one(DELAYS);
    const isAlone = nodes.length < 2;
    if (index < 2 || isAlone || (nodes.length < MAX_NODES && draw.chance(0.12)))
      return { ...join(), afterMs };
    const topic = isDisturbed && draw.chance(0.3) ? "faults" : draw.one(kinds as [Topic, ...Topic[]]);
    if (topic === "services") return { ...serve(), afterMs };
    if (topic === "faults") return { ...disturb(), afterMs };
    const one = draw.one(nodes as [LivingNode, ...LivingNode[]]);
    return { ...(topic === "nodes" ? changeNode(one) : liveOn(one)), afterMs };
  });
  // The stock controller cannot register stopped instances, and retries after up to five minutes: a change of the
  // Service ends that wait.
  const closing: Happening[] = [
    { do: "calm the cloud" },
    ...(mayEndStopped && services.size === 0 ? [] : nodes.filter(({ isStopped }) => isStopped)).map(
      ({ node }): Happening => ({ do: "start instance", node }),
    ),
    ...[...services.keys()].map((service): Happening => ({ do: "touch Service", service })),
  ];
  // A touched Service is synced as a whole. That targets follow the nodes shows only a node that joins later.
  const last = services.size === 0 ? [] : [{ ...join(), afterMs: PAUSE_MS }];
  return [
    ...steps,
    ...closing.map((happening, index) => ({ ...happening, afterMs: index === 1 ? 3_000 : 0 })),
    ...last,
  ];
}

const PORTS = [80, 443, 8080] as const;
const NODE_PORTS_FROM = 30_000;
const HEALTH_PORTS_FROM = 32_000;

function drawService(draw: Draw, service: number, old: ServiceSpec | undefined): ServiceSpec {
  const isNetwork = old === undefined ? draw.chance(0.5) : old.annotations["type"] === "nlb";
  const isInternal = old === undefined ? draw.chance(0.25) : old.annotations["internal"] === "true";
  // Of an NLB that exists, the stock controller cannot change the protocol of a port.
  const isUdp = old === undefined ? isNetwork && draw.chance(0.2) : old.ports[0]?.protocol === "UDP";
  // The kind and the scheme of a load balancer are those of its creation.
  const annotations: Record<string, string> = {
    ...(isNetwork ? { type: "nlb" } : {}),
    ...(isInternal ? { internal: "true" } : {}),
  };
  for (const [name, values] of Object.entries(isNetwork ? NETWORK_VALUES : CLASSIC_VALUES))
    if (draw.chance(0.15)) annotations[name] = draw.one(values);
  const isMoved = draw.chance(0.2);
  const chosen = PORTS.filter(() => draw.chance(0.5));
  return {
    type: old !== undefined && draw.chance(0.15) ? "ClusterIP" : "LoadBalancer",
    annotations,
    ports: (chosen.length === 0 ? [80] : chosen).map((port) => ({
      port,
      nodePort: NODE_PORTS_FROM + service * 10 + PORTS.indexOf(port as 80) + (isMoved ? 5 : 0),
      protocol: isUdp ? "UDP" : "TCP",
    })),
    ranges: draw.one([[], [], ["10.0.0.0/8"], ["192.0.2.0/24", "198.51.100.0/24"]]),
    isLocal: draw.chance(0.25),
    healthCheckNodePort: HEALTH_PORTS_FROM + service,
  };
}

type Values = Readonly<Record<string, readonly [string, ...string[]]>>;

const COMMON_VALUES: Values = {
  "cross-zone-load-balancing-enabled": ["true", "false"],
  "healthcheck-interval": ["10", "30"],
  "healthcheck-healthy-threshold": ["2", "4"],
  "additional-resource-tags": ["team=a", "team=b,level=1"],
  "target-node-labels": ["kubernetes.io/os=linux"],
};

const NETWORK_VALUES: Values = {
  ...COMMON_VALUES,
  "healthcheck-protocol": ["tcp", "http"],
  "healthcheck-path": ["/healthy"],
  "target-group-attributes": ["preserve_client_ip.enabled=true", "proxy_protocol_v2.enabled=true"],
};

const CLASSIC_VALUES: Values = {
  ...COMMON_VALUES,
  "healthcheck-unhealthy-threshold": ["3", "5"],
  "connection-draining-enabled": ["true", "false"],
  "connection-idle-timeout": ["60", "120"],
  "backend-protocol": ["tcp", "http"],
};

/** Returns a step as one line. */
export function describeStep({ do: name, afterMs, ...values }: Step): string {
  return `+${afterMs} ms  ${name} ${JSON.stringify(values)}`;
}

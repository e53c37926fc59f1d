import type { Stage } from "./stage.ts";

/** Something that is done to a Service or its nodes, and has to come to the same whatever happens on the way. */
export interface Operation {
  readonly name: string;
  /** Keys of the cluster's `cloud:`. */
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** The Service before it; none where the operation is to make it. */
  readonly before?: object;
  /** The same while that is made; `cloud` without it. */
  readonly cloudBefore?: Readonly<Record<string, unknown>>;
  /** Does it. */
  change(stage: Stage): Promise<unknown>;
  /** What is done once the first process has ended, or was killed, and before the next one starts. */
  meanwhile?(stage: Stage): Promise<unknown>;
}

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** A way of having a load balancer. */
interface Kind {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** Annotations that change what there is. */
  readonly others: Readonly<Record<string, string | null>>;
}

const NLB = { [`${PREFIX}type`]: "nlb" };
const NLB_OTHERS = {
  [`${PREFIX}cross-zone-load-balancing-enabled`]: "true",
  [`${PREFIX}target-group-attributes`]: "preserve_client_ip.enabled=false",
  [`${PREFIX}healthcheck-interval`]: "10",
  [`${PREFIX}healthcheck-protocol`]: "http",
  [`${PREFIX}additional-resource-tags`]: "team=red",
  "service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24,198.51.100.0/24",
};

/** Network load balancers with each mode of security groups, and classic ones. */
export const KINDS: readonly Kind[] = [
  { name: "NLB", annotations: NLB, others: NLB_OTHERS },
  { name: "NLB, Managed", annotations: NLB, others: NLB_OTHERS, cloud: { nlbSecurityGroupMode: "Managed" } },
  {
    name: "NLB, shared backend group",
    annotations: NLB,
    others: NLB_OTHERS,
    cloud: { nlbSecurityGroupMode: "Managed", sharedBackendSecurityGroup: true },
  },
  {
    name: "CLB",
    annotations: {},
    others: {
      [`${PREFIX}cross-zone-load-balancing-enabled`]: "true",
      [`${PREFIX}connection-draining-enabled`]: "true",
      [`${PREFIX}proxy-protocol`]: "*",
      [`${PREFIX}healthcheck-interval`]: "20",
      [`${PREFIX}additional-resource-tags`]: "team=red",
      "service.beta.kubernetes.io/load-balancer-source-ranges": "192.0.2.0/24,198.51.100.0/24",
    },
  },
];

/** All operations on one kind of load balancer. */
export function operationsOf({ name, annotations, cloud = {}, others }: Kind): Operation[] {
  const before = serviceOf(annotations);
  const of = (what: string, change: Operation["change"]): Operation => ({
    name: `${name}: ${what}`,
    cloud,
    before,
    change,
  });
  return [
    { name: `${name}: create`, cloud, change: ({ objects }) => objects.create(before) },
    of("other ports", ({ objects }) =>
      objects.merge({ spec: { ports: [port("http", 80, 30_081), port("more", 8080, 30_808)] } }),
    ),
    of("other annotations", ({ objects }) => objects.merge({ metadata: { annotations: others } })),
    of("other nodes", ({ objects, instances }) => objects.setNodes(instances.slice(1, 3))),
    of("type ClusterIP", ({ objects }) => objects.merge({ spec: { type: "ClusterIP" } })),
    of("type to and fro", async ({ objects, invoke }) => {
      await objects.merge({ spec: { type: "ClusterIP" } });
      await invoke({ cloud });
      // Ports of nodes are given away with the type, and would be others.
      await objects.merge({ spec: { type: "LoadBalancer", ports: PORTS } });
    }),
    of("delete", ({ objects }) => objects.delete()),
  ];
}

/** A Service of type LoadBalancer with these annotations. */
export function serviceOf(annotations: Readonly<Record<string, string>>): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default", annotations },
    spec: {
      type: "LoadBalancer",
      sessionAffinity: "None",
      externalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: PORTS,
    },
  };
}

const PORTS = [port("http", 80, 30_080), port("https", 443, 30_443)];

function port(name: string, number: number, nodePort: number): object {
  return { name, protocol: "TCP", port: number, targetPort: number, nodePort };
}

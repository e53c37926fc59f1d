import type { AwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { PORTS, port } from "#test/clouds/plain-service.ts";
import type { Operation as AnyOperation } from "#test/killing/operation.ts";
import { annotated, NLB, serviceOf } from "./services.ts";
import { SPECIAL } from "./special-operations.ts";

/** Something that is done on AWS. */
export type Operation = AnyOperation<AwsWorld>;

/** A way of having a load balancer. */
interface Kind {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** Annotations that change what there is. */
  readonly others: Readonly<Record<string, string>>;
}

const SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges";
const NLB_OTHERS = {
  "cross-zone-load-balancing-enabled": "true",
  "target-group-attributes": "preserve_client_ip.enabled=false",
  "healthcheck-interval": "10",
  "healthcheck-protocol": "http",
  "additional-resource-tags": "team=red",
  [SOURCE_RANGES]: "192.0.2.0/24,198.51.100.0/24",
};

/** Network load balancers with each mode of security groups, and classic ones. */
const KINDS: readonly Kind[] = [
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
      "cross-zone-load-balancing-enabled": "true",
      "connection-draining-enabled": "true",
      "proxy-protocol": "*",
      "healthcheck-interval": "20",
      "additional-resource-tags": "team=red",
      [SOURCE_RANGES]: "192.0.2.0/24,198.51.100.0/24",
    },
  },
];

/** All that is done. */
export const OPERATIONS: readonly Operation[] = [...KINDS.flatMap(operationsOf), ...SPECIAL];

/** What is done with each kind of load balancer. */
function operationsOf({ name, annotations, cloud = {}, others }: Kind): Operation[] {
  const service = serviceOf(annotations);
  const before = [service];
  const of = (what: string, change: Operation["change"], more: Partial<Operation> = {}): Operation => ({
    name: `${name}: ${what}`,
    cloud,
    before,
    change,
    ...more,
  });
  const create: Operation = {
    name: `${name}: create`,
    cloud,
    change: ({ objects }) => objects.create(service),
  };
  return [
    create,
    {
      ...create,
      name: `${name}: create, and deleted meanwhile`,
      meanwhile: ({ objects }) => objects.delete(),
    },
    of("other ports", ({ objects }) =>
      objects.merge({ spec: { ports: [port("http", 80, 30_081), port("more", 8080, 30_808)] } }),
    ),
    of("other annotations", ({ objects }) => objects.merge(annotated(others))),
    of(
      "annotations taken away",
      ({ objects }) =>
        objects.merge(annotated(Object.fromEntries(Object.keys(others).map((key) => [key, null])))),
      { before: [serviceOf({ ...annotations, ...others })] },
    ),
    of("other nodes", ({ objects, world }) => objects.setNodes(world.nodes.slice(1, 3))),
    of("type ClusterIP", ({ objects }) => objects.merge(CLUSTER_IP)),
    of("type to and fro", async ({ objects, invoke }) => {
      await objects.merge(CLUSTER_IP);
      await invoke({ cloud });
      await objects.merge(LOAD_BALANCER);
    }),
    of("type ClusterIP, and back meanwhile", ({ objects }) => objects.merge(CLUSTER_IP), {
      meanwhile: ({ objects }) => objects.merge(LOAD_BALANCER),
    }),
    of("delete", ({ objects }) => objects.delete()),
  ];
}

const CLUSTER_IP = { spec: { type: "ClusterIP" } };
/** Ports of nodes are given away with the type, and would be others. */
const LOAD_BALANCER = { spec: { type: "LoadBalancer", ports: PORTS } };

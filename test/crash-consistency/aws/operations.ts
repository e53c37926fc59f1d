import type { AwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { buildPort, PORTS } from "#test/clouds/service-builders.ts";
import type { Operation as AnyOperation } from "#test/crash-consistency/operation.ts";
import { buildAnnotationsPatch, buildService, NLB } from "./services.ts";
import { SPECIAL } from "./special-operations.ts";

/** An operation on AWS. */
export type Operation = AnyOperation<AwsWorld>;

/** A kind of load balancer. */
interface Kind {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** Annotations that change settings in place. */
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

/** All operations on AWS. */
export const OPERATIONS: readonly Operation[] = [...KINDS.flatMap(operationsOf), ...SPECIAL];

function operationsOf({ name, annotations, cloud = {}, others }: Kind): Operation[] {
  const service = buildService(annotations);
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
      objects.merge({ spec: { ports: [buildPort("http", 80, 30_081), buildPort("more", 8080, 30_808)] } }),
    ),
    of("other annotations", ({ objects }) => objects.merge(buildAnnotationsPatch(others))),
    of(
      "annotations removed",
      ({ objects }) =>
        objects.merge(
          buildAnnotationsPatch(Object.fromEntries(Object.keys(others).map((key) => [key, null]))),
        ),
      { before: [buildService({ ...annotations, ...others })] },
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
/** Kubernetes allocates node ports with the type and would choose others. */
const LOAD_BALANCER = { spec: { type: "LoadBalancer", ports: PORTS } };

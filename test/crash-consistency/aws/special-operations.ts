import type { AwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { buildPort } from "#test/clouds/service-builders.ts";
import type { Stage as AnyStage } from "#test/crash-consistency/stage.ts";
import type { Operation } from "./operations.ts";
import { buildAnnotationsPatch, buildService, DUAL_STACK, NLB } from "./services.ts";

type Stage = AnyStage<AwsWorld>;

const ALLOWED = { allow: { certificates: ["arn:aws:acm:*"] } };
const MANAGED = { nlbSecurityGroupMode: "Managed" };
const SHARED = { ...MANAGED, sharedBackendSecurityGroup: true };
const REPLACED = { replaceOnTypeChange: true };
const withOperatorsGroup = ({ world }: Stage) => ({ elbSecurityGroup: world.operatorsGroup });

const remove = ({ objects }: Stage) => objects.delete();
const merge =
  (difference: object) =>
  ({ objects }: Stage): Promise<void> =>
    objects.merge(difference);
const inFirstSubnet = (annotations: Readonly<Record<string, string>>) => (stage: Stage) => [
  buildService({ ...annotations, subnets: stage.world.network.subnets[0] }),
];

const THREE = ["web", "api", "mail"];
const removeAll = async ({ objects }: Stage): Promise<void> => {
  for (const name of THREE) await objects.named(name).delete();
};

/** Operations for only some kinds of load balancers. */
export const SPECIAL: readonly Operation[] = [
  {
    name: "CLB to NLB",
    cloud: REPLACED,
    needsAudits: true,
    before: [buildService({})],
    change: merge(buildAnnotationsPatch(NLB)),
  },
  {
    name: "NLB to CLB",
    cloud: REPLACED,
    needsAudits: true,
    before: [buildService(NLB)],
    change: merge(buildAnnotationsPatch({ type: null })),
  },
  {
    name: "CLB to NLB, and back meanwhile",
    cloud: REPLACED,
    needsAudits: true,
    before: [buildService({})],
    change: merge(buildAnnotationsPatch(NLB)),
    meanwhile: merge(buildAnnotationsPatch({ type: null })),
  },
  { name: "NLB: TLS", cloud: ALLOWED, before: [buildService(NLB)], change: encrypt },
  { name: "CLB: TLS", cloud: ALLOWED, before: [buildService({})], change: encrypt },
  {
    name: "NLB: TCP and UDP",
    before: [buildService(NLB)],
    change: merge({
      spec: {
        ports: [
          buildPort("dns", 53, 30_053),
          buildPort("dns-udp", 53, 30_053, "UDP"),
          buildPort("http", 80, 30_080),
        ],
      },
    }),
  },
  {
    name: "NLB: more subnets",
    before: inFirstSubnet(NLB),
    change: merge(buildAnnotationsPatch({ subnets: null })),
  },
  {
    name: "CLB: more subnets",
    before: inFirstSubnet({}),
    change: merge(buildAnnotationsPatch({ subnets: null })),
  },
  {
    name: "CLB: fewer subnets",
    before: [buildService({})],
    change: (stage) =>
      stage.objects.merge(buildAnnotationsPatch({ subnets: stage.world.network.subnets[0] })),
  },
  { name: "NLB: a node joins", before: [buildService(NLB)], change: join },
  { name: "NLB: all nodes leave", before: [buildService(NLB)], change: leave },
  { name: "CLB: all nodes leave", before: [buildService({})], change: leave },
  {
    name: "NLB, dual-stack: create",
    change: ({ objects }) => objects.create(buildService(NLB, DUAL_STACK)),
  },
  {
    name: "NLB, dual-stack: from one family",
    before: [buildService(NLB)],
    change: merge({ spec: DUAL_STACK }),
  },
  {
    name: "NLB, dual-stack: delete",
    cloud: MANAGED,
    before: [buildService(NLB, DUAL_STACK)],
    change: remove,
  },
  {
    name: "NLB, shared backend group: turned on",
    cloudBefore: MANAGED,
    cloud: SHARED,
    before: [buildService(NLB)],
    change: touch,
  },
  {
    name: "NLB, shared backend group: turned off",
    cloudBefore: SHARED,
    cloud: MANAGED,
    before: [buildService(NLB)],
    change: touch,
  },
  {
    name: "NLB, shared backend group: handed back",
    cloudBefore: SHARED,
    cloud: MANAGED,
    needsAudits: true,
    before: [buildService(NLB)],
    change: touch,
    isLeftOver: isSharedGroup,
  },
  {
    name: "NLB: three Services deleted",
    names: THREE,
    before: THREE.map((name) => buildService(NLB, {}, name)),
    change: removeAll,
  },
  {
    name: "NLB, shared backend group: three Services deleted",
    cloud: SHARED,
    names: THREE,
    isLeftOver: isSharedGroup,
    before: THREE.map((name) => buildService(NLB, {}, name)),
    change: removeAll,
  },
  {
    name: "CLB: three Services deleted",
    names: THREE,
    before: THREE.map((name) => buildService({}, {}, name)),
    change: removeAll,
  },
  {
    name: "CLB, operator's group: create",
    cloud: withOperatorsGroup,
    change: ({ objects }) => objects.create(buildService({})),
  },
  {
    name: "CLB, operator's group: create, and deleted meanwhile",
    cloud: withOperatorsGroup,
    change: ({ objects }) => objects.create(buildService({})),
    meanwhile: remove,
  },
  {
    name: "CLB, operator's group: delete",
    cloud: withOperatorsGroup,
    before: [buildService({})],
    change: remove,
  },
];

/** Includes the rules that admit the group on the nodes. */
function isSharedGroup(thing: string): boolean {
  return thing.includes("k8s-backend-");
}

function encrypt({ objects, world }: Stage): Promise<void> {
  return objects.merge(buildAnnotationsPatch({ "ssl-cert": world.certificate, "ssl-ports": "443" }));
}

function join({ objects, world }: Stage): Promise<void> {
  return objects.setNodes(world.nodes.slice(0, 3));
}

function leave({ objects }: Stage): Promise<void> {
  return objects.setNodes([]);
}

/** Changes only the cluster's configuration, no Service. */
async function touch(): Promise<void> {}

import type { AwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import { port } from "#test/clouds/plain-service.ts";
import type { Stage as AnyStage } from "#test/killing/stage.ts";
import type { Operation } from "./operations.ts";
import { annotated, DUAL_STACK, NLB, serviceOf } from "./services.ts";

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
  serviceOf({ ...annotations, subnets: stage.world.network.subnets[0] }),
];

const THREE = ["web", "api", "mail"];
const removeAll = async ({ objects }: Stage): Promise<void> => {
  for (const name of THREE) await objects.named(name).delete();
};

/** What is done with some kinds of load balancers alone. */
export const SPECIAL: readonly Operation[] = [
  {
    name: "CLB to NLB",
    cloud: REPLACED,
    needsAudits: true,
    before: [serviceOf({})],
    change: merge(annotated(NLB)),
  },
  {
    name: "NLB to CLB",
    cloud: REPLACED,
    needsAudits: true,
    before: [serviceOf(NLB)],
    change: merge(annotated({ type: null })),
  },
  {
    name: "CLB to NLB, and back meanwhile",
    cloud: REPLACED,
    needsAudits: true,
    before: [serviceOf({})],
    change: merge(annotated(NLB)),
    meanwhile: merge(annotated({ type: null })),
  },
  { name: "NLB: TLS", cloud: ALLOWED, before: [serviceOf(NLB)], change: encrypt },
  { name: "CLB: TLS", cloud: ALLOWED, before: [serviceOf({})], change: encrypt },
  {
    name: "NLB: TCP and UDP",
    before: [serviceOf(NLB)],
    change: merge({
      spec: {
        ports: [port("dns", 53, 30_053), port("dns-udp", 53, 30_053, "UDP"), port("http", 80, 30_080)],
      },
    }),
  },
  {
    name: "NLB: more subnets",
    before: inFirstSubnet(NLB),
    change: merge(annotated({ subnets: null })),
  },
  {
    name: "CLB: more subnets",
    before: inFirstSubnet({}),
    change: merge(annotated({ subnets: null })),
  },
  {
    name: "CLB: fewer subnets",
    before: [serviceOf({})],
    change: (stage) => stage.objects.merge(annotated({ subnets: stage.world.network.subnets[0] })),
  },
  { name: "NLB: a node joins", before: [serviceOf(NLB)], change: join },
  { name: "NLB: all nodes leave", before: [serviceOf(NLB)], change: leave },
  { name: "CLB: all nodes leave", before: [serviceOf({})], change: leave },
  {
    name: "NLB, dual-stack: create",
    change: ({ objects }) => objects.create(serviceOf(NLB, DUAL_STACK)),
  },
  {
    name: "NLB, dual-stack: from one family",
    before: [serviceOf(NLB)],
    change: merge({ spec: DUAL_STACK }),
  },
  {
    name: "NLB, dual-stack: delete",
    cloud: MANAGED,
    before: [serviceOf(NLB, DUAL_STACK)],
    change: remove,
  },
  {
    name: "NLB, shared backend group: turned on",
    cloudBefore: MANAGED,
    cloud: SHARED,
    before: [serviceOf(NLB)],
    change: touch,
  },
  {
    name: "NLB, shared backend group: turned off",
    cloudBefore: SHARED,
    cloud: MANAGED,
    before: [serviceOf(NLB)],
    change: touch,
  },
  {
    name: "NLB, shared backend group: handed back",
    cloudBefore: SHARED,
    cloud: MANAGED,
    needsAudits: true,
    before: [serviceOf(NLB)],
    change: touch,
    isLeftOver: isSharedGroup,
  },
  {
    name: "NLB: three Services deleted",
    names: THREE,
    before: THREE.map((name) => serviceOf(NLB, {}, name)),
    change: removeAll,
  },
  {
    name: "NLB, shared backend group: three Services deleted",
    cloud: SHARED,
    names: THREE,
    isLeftOver: isSharedGroup,
    before: THREE.map((name) => serviceOf(NLB, {}, name)),
    change: removeAll,
  },
  {
    name: "CLB: three Services deleted",
    names: THREE,
    before: THREE.map((name) => serviceOf({}, {}, name)),
    change: removeAll,
  },
  {
    name: "CLB, operator's group: create",
    cloud: withOperatorsGroup,
    change: ({ objects }) => objects.create(serviceOf({})),
  },
  {
    name: "CLB, operator's group: create, and deleted meanwhile",
    cloud: withOperatorsGroup,
    change: ({ objects }) => objects.create(serviceOf({})),
    meanwhile: remove,
  },
  {
    name: "CLB, operator's group: delete",
    cloud: withOperatorsGroup,
    before: [serviceOf({})],
    change: remove,
  },
];

/** With what lets it in on the nodes. */
function isSharedGroup(thing: string): boolean {
  return thing.includes("k8s-backend-");
}

function encrypt({ objects, world }: Stage): Promise<void> {
  return objects.merge(annotated({ "ssl-cert": world.certificate, "ssl-ports": "443" }));
}

function join({ objects, world }: Stage): Promise<void> {
  return objects.setNodes(world.nodes.slice(0, 3));
}

function leave({ objects }: Stage): Promise<void> {
  return objects.setNodes([]);
}

/** The cluster's configuration is another one, and no Service. */
async function touch(): Promise<void> {}

import { NETWORK_KIND } from "#clouds/aws/load-balancers/measure.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import {
  buildOrphanedService,
  ORPHANED_TAG,
  parseUidPrefix,
} from "#clouds/aws/load-balancers/orphans/orphaned-service.ts";
import { readSharedRules } from "#clouds/aws/load-balancers/orphans/unused-rules.ts";
import {
  isMadeForCluster,
  isOfAnotherCluster,
  isOwned,
  SERVICE_TAG,
} from "#clouds/aws/load-balancers/ownership.ts";
import type {
  AwsLoadBalancerState,
  SubnetState,
  TargetInstance,
  VpcState,
} from "#clouds/aws/load-balancers/state.ts";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Holding, HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";
import { FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";
import { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { buildInstance, buildSubnet } from "#test/clouds/aws/load-balancers/network/world.ts";
import { createCapability, holdClassic, holdNetwork } from "../clouds/aws.ts";
import { getOwnerTag, TENANTS, type Tenant, type TenantAccount } from "./account.ts";
import { MACHINES_PER_TENANT } from "./history.ts";

/** Ids of the victim's own resources, which no resource of the hostile tenant may name. */
const VICTIMS_IDS = /"(i-[123]|sg-victim|subnet-victim|eipalloc-1)"/;

const INSTANCE_IDS = Array.from({ length: 2 * MACHINES_PER_TENANT }, (_, index) => `i-${index + 1}`);
const PROVIDER_IDS = INSTANCE_IDS.map((id) => `aws:///eu-central-1a/${id}`);

const ownerOf = (id: string): Tenant => (INSTANCE_IDS.indexOf(id) < MACHINES_PER_TENANT ? "victim" : "evil");

/** The location of the tenants' nodes. */
export type Placement = "one VPC" | "two VPCs" | "one security group";

function instancesIn(placement: Placement, tenants: readonly Tenant[]): Record<string, TargetInstance> {
  const groupOf = (tenant: Tenant) => (placement === "one security group" ? "sg-both" : `sg-${tenant}`);
  const ids = INSTANCE_IDS.filter((id) => tenants.includes(ownerOf(id)));
  return Object.fromEntries(
    ids.map((id) => [id, buildInstance({ subnetId: "subnet-a", groupIds: [groupOf(ownerOf(id))] })]),
  );
}

function vpcOf(id: string, placement: Placement, tenants: readonly Tenant[]): VpcState {
  const owned = (tenant: Tenant) => ({ [getOwnerTag(tenant)]: "owned" });
  const shared = Object.fromEntries(tenants.map((tenant) => [getOwnerTag(tenant), "shared"]));
  const subnets: SubnetState[] = [
    buildSubnet("a", { id: `subnet-a${id === "vpc-1" ? "" : "2"}`, tags: shared }),
    ...tenants.map((tenant) => buildSubnet("b", { id: `subnet-${tenant}`, tags: owned(tenant) })),
  ];
  const group = (name: string, tags: Record<string, string>) => ({
    group: { GroupId: `sg-${name}`, GroupName: name, VpcId: id },
    tags,
    ingress: [],
  });
  const groups = [
    ...tenants.map((tenant) => group(tenant, owned(tenant))),
    ...(placement === "one security group" ? [group("both", shared)] : []),
  ];
  return { id, subnets, groups, instances: instancesIn(placement, tenants) };
}

/** Removes other clusters' instances, as the observation of the deployed capability does. */
function withOwnInstances(state: AwsLoadBalancerState, tenant: Tenant): AwsLoadBalancerState {
  const instances = Object.entries(state.vpc.instances).filter(([id]) => ownerOf(id) === tenant);
  return { ...state, vpc: { ...state.vpc, instances: Object.fromEntries(instances) } };
}

type Tagged = { readonly tags: Readonly<Record<string, string>> };

function isOf({ tags }: Tagged, tenant: Tenant): boolean {
  return isMadeForCluster(tags, tenant) || tags[getOwnerTag(tenant)] !== undefined;
}

/**
 * Returns the victim's rules in a group that both tenants' nodes have. They admit its load balancers, by name
 * or by one of their groups.
 */
function victimsRules(ingress: Parameters<typeof parsePermissions>[0], senders: readonly string[]): string[] {
  return parsePermissions(ingress)
    .filter(({ description = "", peer }) =>
      senders.some((sender) => peer === sender || description.includes(sender)),
    )
    .map((rule) => `rule ${formatCanonicalJson(rule)}`);
}

/**
 * Returns an audit's observation of a tenant's cluster, by the tags of the cluster and its Services as on
 * AWS.
 */
function auditNetwork(aws: FakeElbv2, tenant: Tenant, auditAt: string): HoldingsState {
  const targetGroups = [...aws.groups.values()].map(({ group, tags }) => ({
    ...{ tags, id: `${group.TargetGroupArn}` },
    group: { ...group, LoadBalancerArns: aws.usersOf(group) },
  }));
  const balancers = [...aws.balancers.values()].map(({ loadBalancer, tags }) => ({
    ...{ tags, id: `${loadBalancer.LoadBalancerArn}`, loadBalancer },
  }));
  const held = ({ tags }: Tagged, found: Omit<Holding, "service" | "mark">): readonly Holding[] => {
    const { [SERVICE_TAG]: service, [ORPHANED_TAG]: mark } = tags;
    if (service === undefined || !isOwned(tags, tenant)) return [];
    return [{ ...found, service, ...(mark === undefined ? {} : { mark }) }];
  };
  const whole = balancers.flatMap(({ id, tags, loadBalancer: { LoadBalancerName: name = "" } }) => {
    const uid = parseUidPrefix(name);
    return held({ tags }, { kind: NETWORK_KIND, id, name, ...(uid === undefined ? {} : { uid }) });
  });
  const parts = targetGroups.flatMap(({ id, tags, group }) =>
    group.LoadBalancerArns.length > 0
      ? []
      : held({ tags }, { kind: "target group", id, name: `${group.TargetGroupName}`, isPart: true }),
  );
  const holdings = [
    ...whole,
    ...parts.filter(({ service }) => !whole.some((each) => each.service === service)),
  ];
  const shared = readSharedRules({
    ...{ clusterTag: tenant, groups: aws.vpc.groups, classics: [], ownClassics: new Set() },
    networks: balancers.map(({ loadBalancer }) => loadBalancer),
    targetGroups: targetGroups.map(({ group }) => group),
    foreignIds: new Set(
      [...balancers, ...targetGroups].flatMap(({ id, tags }) =>
        isOfAnotherCluster(tags, tenant) ? [id] : [],
      ),
    ),
  });
  const candidate = selectOldestMark(holdings, Date.parse(auditAt));
  if (candidate === undefined) return { holdings, shared };
  const { uid } = buildOrphanedService(candidate).metadata;
  const state = aws.observe(formatLoadBalancerName(uid) ?? "", `${candidate.service}`, tenant);
  return { holdings, shared, removable: { id: candidate.id, state: withOwnInstances(state, tenant) } };
}

/** Creates the network load balancers of two clusters. */
export function createNetworkAccount(placement: Placement): TenantAccount {
  const first = new FakeElbv2(vpcOf("vpc-1", placement, placement === "two VPCs" ? ["victim"] : TENANTS));
  const second = placement === "two VPCs" ? new FakeElbv2(vpcOf("vpc-2", placement, ["evil"]), first) : first;
  const elastic = { "eipalloc-1": "victim", "eipalloc-2": "evil" } as const;
  for (const each of [first, second])
    each.addresses = Object.fromEntries(
      Object.entries(elastic).map(([id, tenant]) => [
        id,
        { tags: { [getOwnerTag(tenant)]: "owned" }, isInUse: false },
      ]),
    );
  const awsOf = (tenant: Tenant): FakeElbv2 => (tenant === "victim" ? first : second);
  const balancersOf = (tenant: Tenant) => [...first.balancers.values()].filter((each) => isOf(each, tenant));
  const sendersOf = (tenant: Tenant) => [
    ...balancersOf(tenant).map(({ loadBalancer }) => `${loadBalancer.LoadBalancerName}`),
    ...groups().flatMap(({ group, tags }) => (isMadeForCluster(tags, tenant) ? [`${group.GroupId}`] : [])),
  ];
  const thingsOf = (tenant: Tenant): readonly Tagged[] =>
    [...first.balancers.values(), ...first.groups.values(), ...first.listeners.values()].filter((each) =>
      isOf(each, tenant),
    );
  const groups = () => [...new Set([...first.vpc.groups, ...second.vpc.groups])];
  return {
    capabilities: (tenant) => ({
      loadBalancers: createCapability(
        (name, service) => withOwnInstances(awsOf(tenant).observe(name, service, tenant), tenant),
        (action) => awsOf(tenant).apply(action),
        (auditAt) =>
          auditAt === undefined
            ? holdNetwork(balancersOf(tenant))
            : auditNetwork(awsOf(tenant), tenant, auditAt),
      ),
    }),
    providerIDs: PROVIDER_IDS,
    victims: () => [
      ...thingsOf("victim").map((thing) => formatCanonicalJson(JSON.parse(JSON.stringify(thing)))),
      ...groups().flatMap((group) =>
        isOf(group, "victim") && isOf(group, "evil")
          ? [
              formatCanonicalJson([group.group, group.tags]),
              ...victimsRules(group.ingress, sendersOf("victim")),
            ]
          : isOf(group, "victim")
            ? [formatCanonicalJson(JSON.parse(JSON.stringify(group)))]
            : [],
      ),
    ],
    trespasses: () =>
      [...thingsOf("evil")].map((thing) => JSON.stringify(thing)).filter((text) => VICTIMS_IDS.test(text)),
    countLoadBalancers: (tenant) => balancersOf(tenant).length,
  };
}

/** Creates the classic load balancers of two clusters in one VPC. */
export function createClassicAccount(): TenantAccount {
  const elb = new FakeElb();
  const vpc = vpcOf("vpc-1", "one VPC", TENANTS);
  elb.subnets = vpc.subnets;
  elb.instances = vpc.instances;
  for (const { group, tags } of vpc.groups)
    elb.security.add(`${group.GroupId}`, `${group.GroupName}`, { ...tags });
  const balancersOf = (tenant: Tenant) => [...elb.classics].filter(([, each]) => isOf(each, tenant));
  return {
    capabilities: (tenant) => ({
      loadBalancers: createCapability(
        (name) => withOwnInstances(elb.observe(name), tenant),
        (action) => elb.act(action),
        () => holdClassic(balancersOf(tenant)),
      ),
    }),
    providerIDs: PROVIDER_IDS,
    victims: () =>
      [
        ...balancersOf("victim").map(([, each]) => each),
        ...[...elb.security.groups.values()].filter((each) => isOf(each, "victim")),
      ].map((thing) => formatCanonicalJson(JSON.parse(JSON.stringify(thing)))),
    trespasses: () =>
      balancersOf("evil")
        .map(([, each]) => JSON.stringify(each))
        .filter((text) => VICTIMS_IDS.test(text)),
    countLoadBalancers: (tenant) => balancersOf(tenant).length,
  };
}

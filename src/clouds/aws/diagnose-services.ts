import { ACCOUNT_LIMIT_READS, readAccountLimits, readAccountUse } from "#clouds/aws/account-limits.ts";
import { createApi } from "#clouds/aws/actions/api.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { checkLimits } from "#clouds/aws/check-limits.ts";
import { createClusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { buildClusterFilters } from "#clouds/aws/describe-instances.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import { LOAD_BALANCER_READS, LOAD_BALANCER_SERVICES } from "#clouds/aws/load-balancers/commands.ts";
import { getAllowedResources } from "#clouds/aws/load-balancers/configuration.ts";
import { readTargetInstances } from "#clouds/aws/load-balancers/observe/instances.ts";
import { createNodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { createReader, type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import { getClusterIdentity } from "#clouds/aws/load-balancers/observe/shared-state.ts";
import { createZoneTypes, readSecurityGroups, readSubnets } from "#clouds/aws/load-balancers/observe/vpc.ts";
import type { AllowedResources, ClusterIdentity } from "#clouds/aws/load-balancers/ownership.ts";
import type { SubnetState, VpcState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import { planNodeRules } from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { buildQuotas } from "#clouds/aws/quotas.ts";
import { findTables } from "#clouds/aws/routes/tables.ts";
import { createSession } from "#clouds/aws/session.ts";
import { getFunctionName } from "#clouds/aws/session-purpose.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import { ok as value } from "#clouds/outcome.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import { sleepFor } from "#clouds/sleep.ts";
import {
  type CheckResult,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "#core/check-result.ts";

/**
 * Checks what load balancers and routes need of a cluster's network on AWS, with the functions' own requests
 * and rules.
 */
export function diagnoseNetworkOnAws(
  config: AwsCloudConfig,
  { clusterName }: LoadCloudOptions,
): NetworkDiagnosis & { close(): void } {
  const cluster: AwsCluster = { ...config, clusterName };
  const clusterTag = config.clusterTag ?? clusterName ?? "";
  const now = (): number => performance.now();
  const api = createApi({
    region: config.region,
    services: LOAD_BALANCER_SERVICES,
    commands: { ...LOAD_BALANCER_READS, ...ACCOUNT_LIMIT_READS },
    credentials: () =>
      createClusterCredentials(
        cluster,
        { name: clusterTag, purpose: "doctor", functionName: getFunctionName("load-balancers") },
        Date.now,
      ),
    wallClock: Date.now,
  });
  const budget = createBudget(now, buildQuotas(config.quotas));
  const openSession = (signal: AbortSignal) => createSession({ ec2: api, budget, sleep: sleepFor, signal });
  return {
    async subnets(signal) {
      const read = createReader(openSession(signal));
      const network = await findNetwork(cluster, read);
      if (network.kind === "fault") return buildUnansweredResult(network.fault);
      const { vpc } = network.value;
      if (vpc === undefined) return NO_VPC;
      const subnets = await readSubnets(vpc, read, createZoneTypes(now));
      if (subnets.kind === "fault") return buildUnansweredResult(subnets.fault);
      const { subnetID: fallbackId } = config;
      return checkSubnets(subnets.value, {
        ...{ vpc, clusterTag, fallbackId, allow: getAllowedResources(config) },
        isVpcConfigured: config.vpc !== undefined,
      });
    },
    async securityGroups(signal) {
      if (config.disableSecurityGroupIngress === true)
        return reportOk("disableSecurityGroupIngress: rules on the nodes' groups are the operator's");
      const read = createReader(openSession(signal));
      const network = await findNetwork(cluster, read);
      if (network.kind === "fault") return buildUnansweredResult(network.fault);
      const { vpc, ids } = network.value;
      const instances = await readTargetInstances(ids, cluster, read);
      if (instances.kind === "fault") return buildUnansweredResult(instances.fault);
      const groups = await readSecurityGroups(vpc, clusterTag, read);
      if (groups.kind === "fault") return buildUnansweredResult(groups.fault);
      const identity = getClusterIdentity(cluster);
      const groupIds = new Set(
        Object.values(instances.value.instances).flatMap(({ groupIds: each }) => each),
      );
      const request = { identity, groupIds, isOurs: () => false };
      const proven = await createNodeGroupProofs(now).prove(groups.value, request, read);
      if (proven.kind === "fault") return buildUnansweredResult(proven.fault);
      const state = {
        id: vpc ?? "",
        subnets: [],
        groups: proven.value,
        instances: Object.fromEntries(
          Object.entries(instances.value.instances).filter(([, { state: of }]) => of !== "terminated"),
        ),
      };
      return checkNodeGroups(state, identity, config.clusterTag !== undefined);
    },
    async routeTables(signal) {
      const found = await findTables(openSession(signal), cluster, []);
      if (found.kind === "fault") return buildUnansweredResult(found.fault);
      if (found.value.kind === "no-tables")
        return reportFailure(
          found.value.message,
          "without a table no route is made, and nothing else is harmed",
        );
      const tables = found.value.tables.map(({ id, size }) => `${id} with ${size} routes`);
      return reportOk(tables.join(", "));
    },
    async accountLimits(needs, signal) {
      const session = openSession(signal);
      const limits = await readAccountLimits(session);
      if (limits.kind === "fault")
        return limits.fault.code === "Denied" ? NOT_ALLOWED : buildUnansweredResult(limits.fault);
      const use = await readAccountUse(session);
      return use.kind === "fault"
        ? buildUnansweredResult(use.fault)
        : checkLimits(limits.value, use.value, needs);
    },
    close: () => api.close(),
  };
}

const NO_VPC = reportWarning(
  "no VPC is configured, and no instance shows it",
  "configure cloud.vpc, or start a node",
);

/** Functions work without this permission; a role of an earlier version may lack it. */
const NOT_ALLOWED = reportSkipped(
  "elasticloadbalancing:DescribeAccountLimits is not allowed to whom the cluster's cloud signs in as: loadBalancers.max cannot be compared with the account's quotas, and is 100 where it is not written",
);

function buildUnansweredResult({ message }: Fault): CheckResult {
  return reportFailure(
    message,
    "give the functions' credentials what docs/reference/aws-permissions.md lists, or run doctor again",
  );
}

/** Maximum number of checked instances: faults of a launch template show on the first ones. */
const MAX_INSTANCES = 200;

/** Finds the VPC and live instances of the cluster. */
async function findNetwork(cluster: AwsCluster, read: Reader) {
  const listing = await readAllPages("DescribeInstances", async (next) => {
    const answer = await read("ec2:DescribeInstances", {
      Filters: buildClusterFilters(cluster),
      MaxResults: 1_000,
      ...(next === undefined ? {} : { NextToken: next }),
    });
    if (answer.kind === "fault") return answer;
    const { Reservations: reservations, NextToken } = answer.value;
    return value({ values: reservations?.flatMap(({ Instances: each = [] }) => each), next: NextToken });
  });
  if (listing.kind === "fault") return listing;
  const ids = listing.value.flatMap(({ InstanceId: id }) => id ?? []).slice(0, MAX_INSTANCES);
  return value({ vpc: cluster.vpc ?? listing.value.find(({ VpcId }) => VpcId)?.VpcId, ids });
}

/** Criteria by which subnets are checked. */
interface SubnetCheckOptions {
  readonly vpc: string;
  readonly clusterTag: string;
  readonly fallbackId: string | undefined;
  readonly allow: AllowedResources;
  readonly isVpcConfigured: boolean;
}

/**
 * Reports the subnets that internet-facing and internal load balancers would use, by the same selection as
 * the functions.
 */
export function checkSubnets(subnets: readonly SubnetState[], options: SubnetCheckOptions): CheckResult {
  const { vpc, clusterTag, isVpcConfigured } = options;
  const state: VpcState = { id: vpc, subnets, groups: [], instances: {} };
  const listChosen = (internal: boolean): readonly string[] => {
    const choice = chooseSubnets(
      { ...options, named: undefined, internal, dualStack: false, attachedIds: [] },
      state,
    );
    return choice.kind === "ready"
      ? choice.value.map(({ subnet }) => `${subnet.SubnetId} (${subnet.AvailabilityZone})`)
      : [];
  };
  const [internetFacing, internal] = [listChosen(false), listChosen(true)];
  const summary = `internet-facing in ${formatList(internetFacing)}; internal in ${formatList(internal)}`;
  const tag = `tag them kubernetes.io/cluster/${clusterTag}${isVpcConfigured ? ", or for no cluster at all" : ", or list them in cloud.allow.subnets"}`;
  if (internal.length === 0) return reportFailure(summary, `no subnet of ${vpc} may be used: ${tag}`);
  if (internetFacing.length === 0)
    return reportWarning(
      summary,
      `for internet-facing ones a subnet needs a route to an internet gateway; ${tag}`,
    );
  const ambiguousZones = listAmbiguousZones(subnets);
  if (ambiguousZones.length === 0) return reportOk(summary);
  return reportWarning(
    `${summary}; several subnets of ${ambiguousZones.join(", ")} have the same role's tag, and the lowest id is taken`,
    "tag one subnet of each zone kubernetes.io/role/elb, and one kubernetes.io/role/internal-elb",
  );
}

const ROLES = ["kubernetes.io/role/elb", "kubernetes.io/role/internal-elb"];

/** Zones in which the role tag, or its absence, leaves more than one subnet to choose from. */
function listAmbiguousZones(subnets: readonly SubnetState[]): readonly string[] {
  const zones = Map.groupBy(subnets, ({ subnet }) => subnet.AvailabilityZone ?? "");
  return [...zones].flatMap(([zone, subnetsOfZone]) => {
    const counts = ROLES.map((role) => subnetsOfZone.filter(({ tags }) => tags[role] !== undefined).length);
    return counts.some((count) => count > 1) ||
      (subnetsOfZone.length > 1 && counts.every((count) => count === 0))
      ? [zone]
      : [];
  });
}

/**
 * Checks for each instance that exactly one security group can be identified as the cluster's, and is proven
 * to be.
 */
export function checkNodeGroups(
  vpc: VpcState,
  identity: ClusterIdentity,
  isTagConfigured: boolean,
): CheckResult {
  const instanceIds = Object.keys(vpc.instances);
  const desiredRules = {
    ...identity,
    disabled: false,
    instanceIds,
    openings: [],
    ownRules: { descriptions: [], groupIds: [] },
  };
  const plan = planNodeRules(desiredRules, vpc);
  const issues = plan.kind === "ready" ? plan.value : [];
  if (instanceIds.length === 0)
    return reportWarning("the cluster has no instance to check", "run doctor again with a node");
  const summary = `one security group of each of ${instanceIds.length} ${instanceIds.length === 1 ? "instance" : "instances"}`;
  if (issues.length === 0 && isTagConfigured) return reportOk(summary);
  if (issues.length === 0)
    return reportWarning(
      `${summary}; without clusterTag every instance of the VPC that carries no cluster's tag counts as the cluster's`,
      `tag the cluster's instances kubernetes.io/cluster/${identity.clusterTag}, and set cloud.clusterTag: ${identity.clusterTag}`,
    );
  return reportFailure(
    issues.map(({ code, detail }) => `${code}: ${detail}`).join("; "),
    issues.map(({ allowed }) => allowed).join("; "),
  );
}

function formatList(names: readonly string[]): string {
  return names.length === 0 ? "none" : names.join(", ");
}

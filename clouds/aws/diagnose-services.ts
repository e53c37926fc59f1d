import { ACCOUNT_LIMIT_READS, accountLimits, accountUse } from "#clouds/aws/account-limits.ts";
import { createApi } from "#clouds/aws/actions/api.ts";
import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { clusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import type { Fault } from "#clouds/aws/errors.ts";
import type { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { limitsFinding } from "#clouds/aws/limit-findings.ts";
import { liveFilters } from "#clouds/aws/live.ts";
import { LOAD_BALANCER_READS, LOAD_BALANCER_SERVICES } from "#clouds/aws/load-balancers/commands.ts";
import { allowedOf } from "#clouds/aws/load-balancers/configuration.ts";
import { targetInstances } from "#clouds/aws/load-balancers/observe/instances.ts";
import { createNodeGroupProofs } from "#clouds/aws/load-balancers/observe/node-groups.ts";
import { allPages, type Reader, readerOf } from "#clouds/aws/load-balancers/observe/reads.ts";
import { identityOf } from "#clouds/aws/load-balancers/observe/shared.ts";
import { groupsOf, subnetsOf } from "#clouds/aws/load-balancers/observe/vpc.ts";
import { createZoneTypes } from "#clouds/aws/load-balancers/observe/zone-types.ts";
import { nodeGroupsFinding, subnetsFinding } from "#clouds/aws/network-findings.ts";
import { quotasWith } from "#clouds/aws/quota-settings.ts";
import { findTables } from "#clouds/aws/routes/tables.ts";
import { createSession } from "#clouds/aws/session.ts";
import type { NetworkDiagnosis } from "#clouds/diagnosis.ts";
import type { LoadCloudOptions } from "#clouds/kind.ts";
import { ok as value } from "#clouds/outcome.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { type Finding, failed, ok, skipped, warning } from "#core/finding.ts";

/** Looks at what load balancers and routes need of a cluster's network on AWS, by the same requests and rules as the functions. */
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
      clusterCredentials(cluster, { name: clusterTag, purpose: "doctor", functionName: "service" }, Date.now),
    wallClock: Date.now,
  });
  const budget = createBudget(now, quotasWith(config.quotas));
  const sessionOf = (signal: AbortSignal) => createSession({ ec2: api, budget, sleep: sleepFor, signal });
  return {
    async subnets(signal) {
      const read = readerOf(sessionOf(signal));
      const known = await networkOf(cluster, read);
      if (known.kind === "fault") return unanswered(known.fault);
      const { vpc } = known.value;
      if (vpc === undefined) return NO_VPC;
      const subnets = await subnetsOf(vpc, read, createZoneTypes(now));
      if (subnets.kind === "fault") return unanswered(subnets.fault);
      const { subnetID: fallbackId } = config;
      return subnetsFinding(subnets.value, {
        ...{ vpc, clusterTag, fallbackId, allow: allowedOf(config) },
        isVpcConfigured: config.vpc !== undefined,
      });
    },
    async securityGroups(signal) {
      if (config.disableSecurityGroupIngress === true)
        return ok("disableSecurityGroupIngress: rules on the nodes' groups are the operator's");
      const read = readerOf(sessionOf(signal));
      const known = await networkOf(cluster, read);
      if (known.kind === "fault") return unanswered(known.fault);
      const { vpc, ids } = known.value;
      const instances = await targetInstances(ids, cluster, read);
      if (instances.kind === "fault") return unanswered(instances.fault);
      const groups = await groupsOf(vpc, clusterTag, read);
      if (groups.kind === "fault") return unanswered(groups.fault);
      const identity = identityOf(cluster);
      const groupIds = new Set(
        Object.values(instances.value.instances).flatMap(({ groupIds: each }) => each),
      );
      const asked = { identity, groupIds, isOurs: () => false };
      const state = {
        id: vpc ?? "",
        subnets: [],
        groups: await createNodeGroupProofs(now).mark(groups.value, asked, read),
        instances: Object.fromEntries(
          Object.entries(instances.value.instances).filter(([, { state: of }]) => of !== "terminated"),
        ),
      };
      return nodeGroupsFinding(state, identity, config.clusterTag !== undefined);
    },
    async routeTables(signal) {
      const found = await findTables(sessionOf(signal), cluster, []);
      if (found.kind === "fault") return unanswered(found.fault);
      if (found.value.kind === "no-tables")
        return failed(found.value.message, "without a table no route is made, and nothing else is harmed");
      const tables = found.value.tables.map(({ id, size }) => `${id} with ${size} routes`);
      return ok(tables.join(", "));
    },
    async accountLimits(needs, signal) {
      const session = sessionOf(signal);
      const limits = await accountLimits(session);
      if (limits.kind === "fault")
        return limits.fault.code === "Denied" ? NOT_ALLOWED : unanswered(limits.fault);
      const use = await accountUse(session);
      return use.kind === "fault" ? unanswered(use.fault) : limitsFinding(limits.value, use.value, needs);
    },
    close: () => api.close(),
  };
}

const NO_VPC = warning(
  "no VPC is configured, and there is no instance to tell it by",
  "configure cloud.vpc, or start a node",
);

/** A function works without it, so that a role of an earlier version may lack it. */
const NOT_ALLOWED = skipped(
  "elasticloadbalancing:DescribeAccountLimits is not allowed to whom the cluster's cloud signs in as: loadBalancers.max cannot be compared with the account's quotas, and is 100 where it is not written",
);

function unanswered({ message }: Fault): Finding {
  return failed(
    message,
    "give the functions' credentials what docs/reference/aws-permissions.md lists, or run doctor again",
  );
}

/** Instances that are looked at: faults of a launch template show on the first. */
const MAX_INSTANCES = 200;

/** The VPC, and instances of the cluster that live. */
async function networkOf(cluster: AwsCluster, read: Reader) {
  const listing = await allPages("DescribeInstances", async (next) => {
    const answer = await read("ec2:DescribeInstances", {
      Filters: liveFilters(cluster),
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

import { createBudget } from "#clouds/aws/budget.ts";
import { type AwsCloudOptions, createAwsCloud } from "#clouds/aws/cloud.ts";
import { createClusterCredentials, shareCredentials } from "#clouds/aws/cluster-credentials.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { InstanceReader } from "#clouds/aws/describe-instances.ts";
import { createEc2, type Ec2 } from "#clouds/aws/ec2.ts";
import { buildQuotas } from "#clouds/aws/quotas.ts";
import { createRenewableClient } from "#clouds/aws/renewable-client.ts";
import { getFunctionName, selectPurpose } from "#clouds/aws/session-purpose.ts";
import { createSharedReads, type SharedReads } from "#clouds/aws/shared-reads/shared-reads.ts";
import { createZones, type Zones } from "#clouds/aws/zones.ts";
import type { Cloud } from "#clouds/cloud.ts";
import type { LoadCloudOptions } from "#clouds/provider.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { addUsage } from "#core/report.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

/** Dependencies that tests replace. */
export interface SharingLoaderOptions extends Pick<AwsCloudOptions, "ec2" | "sleep" | "now" | "wallClock"> {
  /** The client of shared reads; without it `ec2` serves them too. */
  readonly sharedEc2?: Ec2;
}

/**
 * The part of the quota of DescribeInstances for shared calls. The rest is for calls that clusters make
 * themselves, such as those by name, and for other users of the account.
 */
const SHARED_PART = 1 / 2;

/** Creates the cloud of one cluster among those of the process. */
export type SharingLoader = (config: AwsCloudConfig, options: LoadCloudOptions) => Cloud;

/** The reads that the clusters of one principal share, and the number of these clusters. */
interface Group {
  readonly reads: SharedReads;
  readonly zones: Zones;
  readonly close: () => void;
  clusters: number;
}

/**
 * Creates a loader of AWS clouds for a process that holds several. Clusters that would sign in as the same
 * principal, in one region, share look-ups of instances by id and the ids of zones.
 */
export function createSharingLoader(loaderOptions: SharingLoaderOptions = {}): SharingLoader {
  const { ec2: ownEc2, sharedEc2 = ownEc2, ...clocks } = loaderOptions;
  const { sleep = sleepFor, now = () => performance.now(), wallClock = Date.now } = clocks;
  const groups = new Map<string, Group>();

  function createGroup(config: AwsCloudConfig, options: LoadCloudOptions): Group {
    const credentials = shareCredentials(() => createSharedCredentials(config, options, wallClock))();
    const { send, close } = createRenewableClient(
      () => sharedEc2 ?? createEc2(config.region, credentials()),
      wallClock,
    );
    const ec2: InstanceReader = {
      describeInstances: (request, signal) => send((client) => client.describeInstances(request, signal)),
    };
    const quotas = buildQuotas(config.quotas);
    const { burst, refillPerSecond } = quotas.DescribeInstances;
    const part = { burst: burst * SHARED_PART, refillPerSecond: refillPerSecond * SHARED_PART };
    const budget = createBudget(now, { ...quotas, DescribeInstances: part });
    return {
      reads: createSharedReads({ ec2, budget, sleep, now }),
      zones: createZones(now),
      close,
      clusters: 0,
    };
  }

  return (config, options) => {
    const key = buildPrincipalKey(config, options);
    const group = groups.get(key) ?? createGroup(config, options);
    groups.set(key, group);
    group.clusters += 1;
    const reader = group.reads.join();
    const cloud = createAwsCloud(config, {
      ...options,
      ...clocks,
      ...(ownEc2 && { ec2: ownEc2 }),
      zones: group.zones,
    });
    let isClosed = false;
    return {
      ...cloud,
      async instances(nodes, call) {
        // A cluster that is alone shares nothing, and its own calls may spend the whole quota.
        if (group.clusters === 1) return cloud.instances(nodes, call);
        const { readById, getUsage, end } = reader.begin(call);
        try {
          const { answers, usage } = await cloud.instances(nodes, { ...call, readById });
          return { answers, usage: addUsage(usage, getUsage()) };
        } finally {
          end();
        }
      },
      async close() {
        if (isClosed) return;
        isClosed = true;
        reader.leave();
        group.clusters -= 1;
        if (group.clusters === 0) {
          groups.delete(key);
          group.close();
        }
        await cloud.close();
      },
    };
  };
}

/** The end of the shared sessions' name in the account's audit trail. */
const SESSION_NAME = "shared-reads";

/**
 * Returns a key that is equal for clusters whose own sessions have the same principal and quota, apart from
 * the session's policy and name. It has all that decides whether and as whom AWS signs a cluster in: a
 * cluster whose external ID is wrong must not read through the session of one whose ID is right. Access keys
 * count by the reference to their secret. The endpoint is the process's.
 */
export function buildPrincipalKey(config: AwsCloudConfig, options: LoadCloudOptions): string {
  const { region, roleArn, externalId, sourceArn, credentials, quotas } = config;
  return JSON.stringify([
    ...[region, roleArn, externalId, sourceArn, credentials, quotas?.["DescribeInstances"]],
    ...[options.functionName, selectSessionRole(config, options)],
  ]);
}

/**
 * Returns the credentials of shared reads: the principal of the clusters, with a session policy that allows
 * `ec2:DescribeInstances` alone, whatever the clusters' `sessionPolicy`. Without a role there is no session to
 * narrow: as for each cluster's own calls, the credentials are the configured or the process's own.
 */
export function createSharedCredentials(
  config: AwsCloudConfig,
  options: LoadCloudOptions,
  wallClock: () => number,
): CredentialSource | undefined {
  const name = getFunctionName(selectPurpose(options.functionName, "node"));
  const nameRole = (roleArn: string | undefined) => roleArn?.replaceAll("{function}", name);
  return createClusterCredentials(
    // The policy of this purpose names no cluster, and `none` would send no policy.
    { ...config, roleArn: nameRole(config.roleArn), sessionPolicy: "strict" },
    {
      name: SESSION_NAME,
      // Its sessions may describe instances, and nothing else.
      purpose: "ec2-events",
      sessionRoleArn: nameRole(selectSessionRole(config, options)),
    },
    wallClock,
  );
}

/** Without a session policy, a cluster without a role uses the process's own credentials. */
function selectSessionRole(
  { roleArn, credentials, sessionPolicy }: AwsCloudConfig,
  { sessionRoleArn }: LoadCloudOptions,
): string | undefined {
  const hasOwn = roleArn !== undefined || credentials !== undefined;
  return hasOwn || sessionPolicy === "none" ? undefined : sessionRoleArn;
}

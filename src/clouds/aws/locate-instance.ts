import { createBudget } from "#clouds/aws/budget.ts";
import { createClusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import { describePage } from "#clouds/aws/describe-instances.ts";
import { createEc2, type Ec2 } from "#clouds/aws/ec2.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { isClusterInstance, isForgotten } from "#clouds/aws/resolution.ts";
import { createSession } from "#clouds/aws/session.ts";
import type { CloudError } from "#clouds/outcome.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { setNewest } from "#core/bounded-map.ts";

/** Which of the given clusters own an instance. */
export type InstanceLocation =
  /** The clusters whose network and tag it has; empty if it belongs to others. */
  | { readonly kind: "known"; readonly owners: readonly AwsCluster[] }
  /** The instance is terminated, and no fact about its owner is left. */
  | { readonly kind: "forgotten" }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly fault: CloudError };

/** Finds out which clusters own an instance, with one request per instance. */
export interface Locator {
  /** `clusters` share one account and region; any of them with permission looks for all. */
  locate(id: string, clusters: readonly AwsCluster[], signal: AbortSignal): Promise<InstanceLocation>;
}

/**
 * The part of the account's quotas for instance events. They only make things faster, so initialization comes
 * first.
 */
const SHARE = 0.05;

/** Maximum number of different credentials to try if the first ones lack permission. */
const MAX_CREDENTIALS = 3;

/** Maximum number of cached clients. */
const MAX_CLIENTS = 16;

/** Creates a locator without clients. */
export function createLocator(): Locator {
  const budget = createBudget(() => performance.now());
  const clients = new Map<string, Ec2>();

  function getClient(cluster: AwsCluster): Ec2 {
    const key = formatCredentialsKey(cluster);
    const cached = clients.get(key);
    if (cached !== undefined) return cached;
    const name = cluster.clusterName ?? cluster.region;
    const client = createEc2(
      cluster.region,
      createClusterCredentials(cluster, { name, purpose: "ec2-events" }, Date.now),
    );
    for (const oldest of setNewest(clients, key, client, MAX_CLIENTS)) oldest.close();
    return client;
  }

  return {
    async locate(id, clusters, signal) {
      const leave = budget.enter(SHARE);
      let last: InstanceLocation = { kind: "absent" };
      try {
        const byCredentials = new Map(
          clusters.toReversed().map((cluster) => [formatCredentialsKey(cluster), cluster]),
        );
        for (const cluster of [...byCredentials.values()].toReversed().slice(0, MAX_CREDENTIALS)) {
          const session = createSession({ ec2: getClient(cluster), budget, sleep: sleepFor, signal });
          const page = await describePage(session, [{ Name: "instance-id", Values: [id] }], PAGE_SIZE);
          if (page.kind === "fault") {
            last = { kind: "fault", fault: page.fault };
            if (page.fault.code === "Denied") continue;
            return last;
          }
          const found = page.value.found.find((each) => each.id === id);
          if (found === undefined) return { kind: "absent" };
          if (isForgotten(found)) return { kind: "forgotten" };
          return { kind: "known", owners: clusters.filter((each) => isClusterInstance(found, each)) };
        }
        return last;
      } finally {
        leave();
      }
    },
  };
}

/** Returns the instance id in a provider ID; undefined if it names no EC2 instance. */
export function parseInstanceId(providerID: string): string | undefined {
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? parsed.id : undefined;
}

/** EC2's minimum. */
const PAGE_SIZE = 5;

function formatCredentialsKey({ region, roleArn, externalId, sourceArn, credentials }: AwsCluster): string {
  return JSON.stringify([region, roleArn, externalId, sourceArn, credentials]);
}

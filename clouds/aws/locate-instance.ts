import type { AwsCluster } from "#clouds/aws/belonging.ts";
import { createBudget } from "#clouds/aws/budget.ts";
import { clusterCredentials } from "#clouds/aws/cluster-credentials.ts";
import { describePage } from "#clouds/aws/describe-instances.ts";
import { createEc2, type Ec2 } from "#clouds/aws/ec2.ts";
import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { isForgotten, isOurs } from "#clouds/aws/resolution.ts";
import { createSession } from "#clouds/aws/session.ts";
import type { CloudFault } from "#clouds/outcome.ts";
import { sleepFor } from "#clouds/sleep.ts";

/** Whose an instance is, of the clusters that were asked about. */
export type Whereabouts =
  /** Those whose network and tag it has; none of them where it is somebody else's. */
  | { readonly kind: "known"; readonly owners: readonly AwsCluster[] }
  /** It has ended, and nothing is left to tell. */
  | { readonly kind: "forgotten" }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly fault: CloudFault };

/** Finds out whose instances are, one request an instance. */
export interface Locator {
  /** `clusters` are of one account and region; whichever of them may look looks for all. */
  locate(id: string, clusters: readonly AwsCluster[], signal: AbortSignal): Promise<Whereabouts>;
}

/** The part of the account's quotas that events may spend: they are about speed alone, and what initializes nodes comes first. */
const SHARE = 0.05;

/** With so many different credentials an instance is looked for, where the first ones may not. */
const MAX_CREDENTIALS = 3;

/** So many clients are kept. */
const MAX_CLIENTS = 16;

/** No client yet. */
export function createLocator(): Locator {
  const budget = createBudget(() => performance.now());
  const clients = new Map<string, Ec2>();

  function clientOf(cluster: AwsCluster): Ec2 {
    const key = credentialsOf(cluster);
    const known = clients.get(key);
    if (known !== undefined) return known;
    for (const [oldest, client] of clients) {
      if (clients.size < MAX_CLIENTS) break;
      clients.delete(oldest);
      client.close();
    }
    const name = cluster.clusterName ?? cluster.region;
    const made = createEc2(
      cluster.region,
      clusterCredentials(cluster, { name, purpose: "ec2-events" }, Date.now),
    );
    clients.set(key, made);
    return made;
  }

  return {
    async locate(id, clusters, signal) {
      const leave = budget.enter(SHARE);
      let last: Whereabouts = { kind: "absent" };
      try {
        const first = new Map(clusters.toReversed().map((cluster) => [credentialsOf(cluster), cluster]));
        for (const cluster of [...first.values()].toReversed().slice(0, MAX_CREDENTIALS)) {
          const session = createSession({ ec2: clientOf(cluster), budget, sleep: sleepFor, signal });
          const page = await describePage(session, [{ Name: "instance-id", Values: [id] }], PAGE_SIZE);
          if (page.kind === "fault") {
            last = { kind: "fault", fault: page.fault };
            if (page.fault.code === "Denied") continue;
            return last;
          }
          const found = page.value.found.find((each) => each.id === id);
          if (found === undefined) return { kind: "absent" };
          if (isForgotten(found)) return { kind: "forgotten" };
          return { kind: "known", owners: clusters.filter((each) => isOurs(found, each)) };
        }
        return last;
      } finally {
        leave();
      }
    },
  };
}

/** The id of the instance that a provider ID names; undefined where it names none of this cloud's. */
export function instanceIdOf(providerID: string): string | undefined {
  const parsed = parseProviderID(providerID);
  return parsed.kind === "instance" ? parsed.id : undefined;
}

/** The least that EC2 takes. */
const PAGE_SIZE = 5;

function credentialsOf({ region, roleArn, externalId, sourceArn, credentials }: AwsCluster): string {
  return JSON.stringify([region, roleArn, externalId, sourceArn, credentials]);
}

import type { Cloud } from "#clouds/cloud.ts";
import { type Authorize, createApi, signedBy } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import type { Environment, LoadCloudOptions } from "#clouds/kind.ts";
import { readAuthority } from "#clouds/rancher/certificate-authority.ts";
import type { ManagementServer, RancherCloudConfig } from "#clouds/rancher/kind.ts";
import { createMachinesCloud } from "#clouds/rancher/machines-cloud.ts";
import { nodeAnswer } from "#clouds/rancher/node-answer.ts";
import type { Distribution } from "#clouds/rancher/node-keys.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import { tokenOf } from "#clouds/rancher/token.ts";
import { type Sleep, sleepFor } from "#clouds/sleep.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** The world of a cloud of Rancher's, where it is not the real one. */
export interface RancherCloudOptions extends LoadCloudOptions {
  readonly sleep?: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
  readonly random?: () => number;
  /** For how long a list is believed of what it shows. */
  readonly maxListAgeMs?: number;
}

/** A management server is an API server: it has no quota of ours, and is not to be kept busy by us either. */
const QUOTA = { burst: 40, refillPerSecond: 10 };

/** Makes the cloud that a configuration describes; rejects where a token or a file is missing or unusable. */
export async function loadRancherCloud(
  config: RancherCloudConfig,
  options: RancherCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const { distribution = "k3s", rancher: server, cattle } = config;
  if (cattle !== undefined) {
    const { loadCattleCloud } = await import("#clouds/rancher/cattle/cloud.ts");
    return loadCattleCloud(cattle, options, environment);
  }
  if (server === undefined) return createDistributionCloud(distribution);
  const authorize = tokenOf(server, environment, options.clusterName ?? server.cluster);
  await authorize();
  const authority = await readAuthority(server.caFile);
  return createRancherCloud(distribution, { server, authorize, authority }, options);
}

/** Answers for nodes of K3s or RKE2 by the nodes alone: nobody is asked, and none is ever said to be gone. */
export function createDistributionCloud(distribution: Distribution): Cloud {
  return {
    provider: "rancher",
    async instances(nodes, { signal }) {
      const answers = nodes.map((node) => (signal.aborted ? ABORTED : nodeAnswer(node, distribution)));
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

/** A management server, and how it is spoken to. */
export interface ManagementAccess {
  readonly server: ManagementServer;
  readonly authorize: Authorize;
  /** PEM. */
  readonly authority?: string | undefined;
}

/** Nodes of K3s or RKE2 of whose machines Rancher knows. */
export function createRancherCloud(
  distribution: Distribution,
  { server, authorize, authority }: ManagementAccess,
  options: RancherCloudOptions = {},
): Cloud {
  const {
    sleep = sleepFor,
    now = () => performance.now(),
    wallClock = Date.now,
    random = Math.random,
  } = options;
  const client = createHttpClient(server.url, { authority });
  const budget = createBudget(QUOTA, 0, now);
  const userAgent = `serverless-ccm (${(options.clusterName ?? server.cluster).replace(/[^\w.-]/g, "-")})`;
  const sign = signedBy(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const { maxListAgeMs = 10_000 } = options;
  return createMachinesCloud({ api, budget, distribution, server, maxListAgeMs, now, close: client.close });
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

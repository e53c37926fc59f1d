import type { Cloud } from "#clouds/cloud.ts";
import { type Authorize, createApi, signedBy } from "#clouds/http/api.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { type ManagementServer, type RancherCloudConfig, TOKEN_VARIABLE } from "#clouds/rancher/kind.ts";
import { createMachinesCloud } from "#clouds/rancher/machines-cloud.ts";
import { nodeAnswer } from "#clouds/rancher/node-answer.ts";
import type { Distribution } from "#clouds/rancher/node-keys.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import { readAuthority } from "#clouds/secrets/read-authority.ts";
import type { InstanceAnswer } from "#core/instance.ts";

/** A management server is an API server: it has no quota of ours, and is not to be kept busy by us either. */
const QUOTA = { burst: 40, refillPerSecond: 10 };

/** Makes the cloud that a configuration describes; rejects where a token or a file is missing or unusable. */
export async function loadRancherCloud(
  config: RancherCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const { distribution = "k3s", rancher: server, cattle } = config;
  if (cattle !== undefined) {
    const { loadCattleCloud } = await import("#clouds/rancher/cattle/cloud.ts");
    return loadCattleCloud(cattle, options, environment);
  }
  if (server === undefined) return createDistributionCloud(distribution);
  const authorize = tokenOf(server, {
    variable: TOKEN_VARIABLE,
    key: "rancher.tokenFile",
    environment,
    clusterName: options.clusterName ?? server.cluster,
  });
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
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random } = worldOf(options);
  const client = createHttpClient(server.url, { authority });
  const budget = createBudget(QUOTA, 0, now);
  const userAgent = userAgentOf(options.clusterName ?? server.cluster);
  const sign = signedBy(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const { maxListAgeMs = 10_000 } = options;
  return createMachinesCloud({ api, budget, distribution, server, maxListAgeMs, now, close: client.close });
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

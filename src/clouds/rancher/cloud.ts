import type { Cloud } from "#clouds/cloud.ts";
import { type Authorize, createApi, createSigner } from "#clouds/http/api.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import type { Environment } from "#clouds/provider.ts";
import {
  type Distribution,
  type ManagementServer,
  type RancherCloudConfig,
  TOKEN_VARIABLE,
} from "#clouds/rancher/config.ts";
import { createMachinesCloud } from "#clouds/rancher/machines-cloud.ts";
import { buildNodeAnswer } from "#clouds/rancher/node-answer.ts";
import { readError } from "#clouds/rancher/read-error.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { readAuthority } from "#platforms/secrets/read-secret.ts";

/** A management server is an API server: it has no documented quota, and we must not overload it. */
const QUOTA = { burst: 40, refillPerSecond: 10 };

/** Creates the configured cloud; rejects if a token or a file is missing or unusable. */
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
  const authorize = createAuthorizer(server, {
    variable: TOKEN_VARIABLE,
    key: "rancher.tokenFile",
    environment,
    clusterName: options.clusterName ?? server.cluster,
  });
  await authorize();
  const authority = await readAuthority(server.caFile);
  return createRancherCloud(distribution, { server, authorize, authority }, options);
}

/**
 * Creates a cloud for K3s or RKE2 that answers from the nodes alone: it sends no request and never reports a
 * node as gone.
 */
export function createDistributionCloud(distribution: Distribution): Cloud {
  return {
    provider: "rancher",
    async instances(nodes, { signal }) {
      const answers = nodes.map((node) => (signal.aborted ? ABORTED : buildNodeAnswer(node, distribution)));
      return { answers, usage: { calls: {}, throttled: 0, waitedMs: 0 } };
    },
    async close() {},
  };
}

/** A management server, and how to reach it. */
export interface ManagementAccess {
  readonly server: ManagementServer;
  readonly authorize: Authorize;
  /** PEM. */
  readonly authority?: string | undefined;
}

/** Creates the cloud of K3s or RKE2 nodes whose machines Rancher manages. */
export function createRancherCloud(
  distribution: Distribution,
  { server, authorize, authority }: ManagementAccess,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random } = buildDependencies(options);
  const client = createHttpClient(server.url, { authority });
  const budget = createBudget(QUOTA, 0, now);
  const userAgent = formatUserAgent(options.clusterName ?? server.cluster);
  const sign = createSigner(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const { maxListAgeMs = 10_000 } = options;
  return createMachinesCloud({ api, budget, distribution, server, maxListAgeMs, now, close: client.close });
}

const ABORTED: InstanceAnswer = { kind: "error", code: "Aborted", message: "aborted before it was answered" };

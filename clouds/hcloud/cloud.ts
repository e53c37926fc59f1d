import type { Cloud } from "#clouds/cloud.ts";
import { DEFAULT_ENDPOINT, type HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/config.ts";
import { ACCOUNT, buildInstance } from "#clouds/hcloud/instance.ts";
import { parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { listDeleted } from "#clouds/hcloud/list-deleted.ts";
import { listFew, listServers } from "#clouds/hcloud/list-servers.ts";
import { createNetwork, findNetwork } from "#clouds/hcloud/network.ts";
import { checkOwnership, type Ownership } from "#clouds/hcloud/ownership.ts";
import { parseProviderID } from "#clouds/hcloud/provider-id.ts";
import { readError } from "#clouds/hcloud/read-error.ts";
import { readServer } from "#clouds/hcloud/read-server.ts";
import type { Server } from "#clouds/hcloud/server.ts";
import { type Authorize, createApi, createSigner } from "#clouds/http/api.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { createAuthorizer } from "#clouds/http/create-authorizer.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import type { Environment } from "#clouds/provider.ts";

/**
 * The maximum rate of requests. Hetzner allows a project 3,600 requests and restores one per second. Each
 * answer says how many are left, and the budget follows that.
 */
const QUOTA: Quota = { burst: 100, refillPerSecond: 10 };

/** With fewer requests left than this, initialized nodes are not checked. */
const RESERVE = 360;

/** Creates the cloud with the token of its file or of the environment; rejects without a usable token. */
export async function loadHcloudCloud(
  config: HcloudCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = createAuthorizer(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? "hcloud",
  });
  await authorize();
  return createHcloudCloud(config, authorize, options);
}

/** Creates the cloud of one token's Hetzner project. Budget and lists live as long as the returned object. */
export function createHcloudCloud(
  config: HcloudCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const { labelSelector } = config;
  const client = createHttpClient(config.endpoint ?? DEFAULT_ENDPOINT);
  const budget = createBudget(QUOTA, RESERVE, now);
  const userAgent = formatUserAgent(options.clusterName ?? "hcloud");
  const sign = createSigner(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const network = createNetwork(api, config.network, now);
  const requirements = parseLabelSelector(labelSelector ?? "") ?? [];
  let ownership: Ownership = { network: undefined, labelSelector, requirements };
  const sources = createSources<Server>({
    lists: [(callContext) => listServers(api, labelSelector, callContext, now)],
    read: (id, callContext) => readServer(api, id, callContext),
    checkOwnership: (server) => checkOwnership(ownership, server),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "hcloud",
    title: "Hetzner",
    machine: "server",
    budget,
    parseProviderID,
    async prepare(callContext) {
      const id = await network.readId(callContext);
      if (id.kind === "fault") return id.fault;
      ownership = { network: id.value, labelSelector, requirements };
      return undefined;
    },
    sources,
    listFew: (callContext) => listFew(api, labelSelector, callContext),
    isAlive: ({ status }) => status !== "deleting",
    // A project's servers may be in all locations; a wrong configuration differs by its token or its network.
    locate: ({ id }) => ({ id, account: ACCOUNT, network: `-/${ownership.network ?? "-"}` }),
    listDeleted: (callContext) => listDeleted(api, callContext),
    buildInstance: (server) => buildInstance(server, { ...config, network: ownership.network }),
    // No server may have the labels yet, but the list also shows whether the token is accepted.
    check: (callContext) =>
      config.network === undefined
        ? listFew(api, labelSelector, callContext)
        : findNetwork(api, config.network, callContext),
    close: () => client.close(),
  });
}

import type { Cloud } from "#clouds/cloud.ts";
import { notOurs, type Ownership } from "#clouds/hcloud/belonging.ts";
import { ACCOUNT, instanceOf } from "#clouds/hcloud/instance.ts";
import { DEFAULT_ENDPOINT, type HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/kind.ts";
import { parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { listDeleted } from "#clouds/hcloud/list-deleted.ts";
import { listFew, listServers } from "#clouds/hcloud/list-servers.ts";
import { createNetwork, findNetwork } from "#clouds/hcloud/network.ts";
import { parseProviderID } from "#clouds/hcloud/provider-id.ts";
import { readError } from "#clouds/hcloud/read-error.ts";
import { readServer } from "#clouds/hcloud/read-server.ts";
import type { Server } from "#clouds/hcloud/server.ts";
import { type Authorize, createApi, signedBy } from "#clouds/http/api.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";

/**
 * What is asked at the most. Hetzner allows a project 3,600 requests, of which one comes back each second; how many are left it says with
 * each answer, and that is heeded.
 */
const QUOTA: Quota = { burst: 100, refillPerSecond: 10 };

/** With fewer than this left, nodes that are initialized already are not looked at. */
const RESERVE = 360;

/** Makes the cloud with the token of its file, or of the environment; rejects where there is none, or none that is usable. */
export async function loadHcloudCloud(
  config: HcloudCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = tokenOf(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? "hcloud",
  });
  await authorize();
  return createHcloudCloud(config, authorize, options);
}

/** Hetzner Cloud: the servers of one token's project. Budget and lists live as long as what is returned. */
export function createHcloudCloud(
  config: HcloudCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = worldOf(options);
  const { labelSelector } = config;
  const client = createHttpClient(config.endpoint ?? DEFAULT_ENDPOINT);
  const budget = createBudget(QUOTA, RESERVE, now);
  const userAgent = userAgentOf(options.clusterName ?? "hcloud");
  const sign = signedBy(authorize);
  const api = createApi({ client, sign, budget, readError, userAgent, sleep, wallClock, random });
  const network = createNetwork(api, config.network, now);
  const requirements = parseLabelSelector(labelSelector ?? "") ?? [];
  let ownership: Ownership = { network: undefined, labelSelector, requirements };
  const sources = createSources<Server>({
    lists: [(turn) => listServers(api, labelSelector, turn, now)],
    read: (id, turn) => readServer(api, id, turn),
    notOurs: (server) => notOurs(ownership, server),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "hcloud",
    title: "Hetzner",
    machine: "server",
    budget,
    parseProviderID,
    async prepare(turn) {
      const id = await network.id(turn);
      if (id.kind === "fault") return id.fault;
      ownership = { network: id.value, labelSelector, requirements };
      return undefined;
    },
    sources,
    listFew: (turn) => listFew(api, labelSelector, turn),
    isAlive: ({ status }) => status !== "deleting",
    // A project's servers may be in all locations; its token and its network are what a wrong one differs by.
    locate: ({ id }) => ({ id, account: ACCOUNT, network: `-/${ownership.network ?? "-"}` }),
    listDeleted: (turn) => listDeleted(api, turn),
    instanceOf: (server) => instanceOf(server, { ...config, network: ownership.network }),
    // Labels nobody may have yet; but whether the token is accepted the list tells as well.
    check: (turn) =>
      config.network === undefined
        ? listFew(api, labelSelector, turn)
        : findNetwork(api, config.network, turn),
    close: () => client.close(),
  });
}

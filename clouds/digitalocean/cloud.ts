import type { Cloud } from "#clouds/cloud.ts";
import { notOurs } from "#clouds/digitalocean/belonging.ts";
import { checkRegion } from "#clouds/digitalocean/check-region.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import { ACCOUNT, formatNetwork, instanceOf } from "#clouds/digitalocean/instance.ts";
import { DEFAULT_API_URL, type DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/kind.ts";
import { listDestroyed } from "#clouds/digitalocean/list-destroyed.ts";
import { listDroplets, listFew } from "#clouds/digitalocean/list-droplets.ts";
import { parseProviderID } from "#clouds/digitalocean/provider-id.ts";
import { readDroplet } from "#clouds/digitalocean/read-droplet.ts";
import { readError } from "#clouds/digitalocean/read-error.ts";
import { type Authorize, createApi, signedBy } from "#clouds/http/api.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { loadedCapability } from "#clouds/loaded-capability.ts";

/** What DigitalOcean allows: 250 requests a minute and 5,000 an hour for each token. */
const QUOTA: Quota = { burst: 50, refillPerSecond: 4 };

/** With fewer than this left of the hour, nodes that are initialized already are not looked at. */
const RESERVE = 500;

/** Makes the cloud with the token of its file, or of the environment; rejects where there is none, or none that is usable. */
export async function loadDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = tokenOf(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? config.region,
  });
  await authorize();
  return createDigitalOceanCloud(config, authorize, options);
}

/** DigitalOcean: the droplets of one token's account. Budget and lists live as long as what is returned. */
export function createDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = worldOf(options);
  const client = createHttpClient(config.apiURL ?? DEFAULT_API_URL);
  const budget = createBudget(quotaOf(config), RESERVE, now);
  const userAgent = userAgentOf(options.clusterName ?? config.region);
  const api = createApi({
    client,
    sign: signedBy(authorize),
    budget,
    readError,
    userAgent,
    sleep,
    wallClock,
    random,
  });
  const tag = config.dropletTag;
  const sources = createSources<Droplet>({
    // Those with GPUs the API lists apart.
    lists: [
      (turn) => listDroplets(api, { tag }, turn, now),
      (turn) => listDroplets(api, { type: "gpus" }, turn, now),
    ],
    read: (id, turn) => readDroplet(api, id, turn),
    notOurs: (droplet) => notOurs(config, droplet),
    maxListAgeMs,
    now,
  });
  const world = { config, api, budget, sources };
  const nodes = createListedCloud({
    provider: "digitalocean",
    title: "DigitalOcean",
    machine: "droplet",
    budget,
    parseProviderID,
    sources,
    listFew: (turn) => listFew(api, { tag }, turn),
    // One that is powered off is there as well.
    isAlive: () => true,
    instanceOf,
    locate: (droplet) => ({
      id: droplet.id,
      account: ACCOUNT,
      network: formatNetwork(droplet),
      region: droplet.region?.slug,
    }),
    listDeleted: (turn) => listDestroyed(api, turn),
    check: (turn) => checkRegion(api, config.region, turn),
    close: () => client.close(),
  });
  return {
    ...nodes,
    capabilities: {
      // Not in the bundles of functions that have no use for them (build/build.ts).
      loadBalancers: loadedCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/digitalocean/load-balancers/capability.ts");
        return createLoadBalancers(world);
      }),
      loadBalancerTags: loadedCapability(async () => {
        const { createLoadBalancerTags } = await import(
          "#clouds/digitalocean/load-balancer-tags/capability.ts"
        );
        return createLoadBalancerTags(world);
      }),
      serviceValidation: loadedCapability(async () => {
        const { createServiceValidation } = await import(
          "#clouds/digitalocean/service-validation/capability.ts"
        );
        return createServiceValidation(world);
      }),
      firewall: loadedCapability(async () => {
        const { createFirewall } = await import("#clouds/digitalocean/firewall/capability.ts");
        return createFirewall(world);
      }),
    },
  };
}

function quotaOf({ requestsPerSecond = QUOTA.refillPerSecond }: DigitalOceanCloudConfig): Quota {
  const refillPerSecond = Math.min(QUOTA.refillPerSecond, requestsPerSecond);
  return { refillPerSecond, burst: (QUOTA.burst * refillPerSecond) / QUOTA.refillPerSecond };
}

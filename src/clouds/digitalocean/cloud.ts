import * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import {
  DEFAULT_API_URL,
  type DigitalOceanCloudConfig,
  TOKEN_VARIABLE,
} from "#clouds/digitalocean/config.ts";
import {
  checkOwnership,
  type Droplet,
  type DropletAddress,
  DropletAnswer,
  formatProviderID,
  parseProviderID,
} from "#clouds/digitalocean/droplet.ts";
import { listDroplets, listFew } from "#clouds/digitalocean/list-droplets.ts";
import { readError } from "#clouds/digitalocean/read-list.ts";
import { checkRegion } from "#clouds/digitalocean/requests.ts";
import { type Api, type Authorize, createApi, createSigner } from "#clouds/http/api.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { createBudget, type Quota } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import type { CallContext } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { createLazyCapability } from "#clouds/lazy-capability.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { fault, ok } from "#clouds/outcome.ts";
import type { Environment } from "#clouds/provider.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import type { Instance } from "#core/instance.ts";
import type { NodeAddress } from "#core/node/node.ts";

/** DigitalOcean's quota: 250 requests a minute and 5,000 an hour for each token. */
const QUOTA: Quota = { burst: 50, refillPerSecond: 4 };

/** With fewer requests left than this in the hour, initialized nodes are not checked. */
const RESERVE = 500;

/** Creates the cloud with the token of its file or of the environment; rejects without a usable token. */
export async function loadDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  options: HttpCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const authorize = createAuthorizer(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? config.region,
  });
  await authorize();
  return createDigitalOceanCloud(config, authorize, options);
}

/**
 * Creates the cloud of one token's account, with its droplets. Budget and lists live as long as the returned
 * object.
 */
export function createDigitalOceanCloud(
  config: DigitalOceanCloudConfig,
  authorize: Authorize,
  options: HttpCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const client = createHttpClient(config.apiURL ?? DEFAULT_API_URL);
  const budget = createBudget(buildQuota(config), RESERVE, now);
  const userAgent = formatUserAgent(options.clusterName ?? config.region);
  const api = createApi({
    client,
    sign: createSigner(authorize),
    budget,
    readError,
    userAgent,
    sleep,
    wallClock,
    random,
  });
  const tag = config.dropletTag;
  const sources = createSources<Droplet>({
    // The API lists GPU droplets separately.
    lists: [
      (callContext) => listDroplets(api, { tag }, callContext, now),
      (callContext) => listDroplets(api, { type: "gpus" }, callContext, now),
    ],
    read: (id, callContext) => readDroplet(api, id, callContext),
    checkOwnership: (droplet) => checkOwnership(config, droplet),
    maxListAgeMs,
    now,
  });
  const dependencies = { config, api, budget, sources };
  const nodes = createListedCloud({
    provider: "digitalocean",
    title: "DigitalOcean",
    machine: "droplet",
    budget,
    parseProviderID,
    sources,
    listFew: (callContext) => listFew(api, { tag }, callContext),
    // A droplet that is powered off exists as well.
    isAlive: () => true,
    buildInstance: buildInstance,
    locate: (droplet) => ({
      id: droplet.id,
      account: ACCOUNT,
      network: formatNetwork(droplet),
      region: droplet.region?.slug,
    }),
    listDeleted: (callContext) => listDestroyed(api, callContext),
    check: (callContext) => checkRegion(api, config.region, callContext),
    close: () => client.close(),
  });
  return {
    ...nodes,
    capabilities: {
      // Excluded from bundles of functions that do not need it (build/leave-out-plugin.ts).
      loadBalancers: createLazyCapability(async () => {
        const { createLoadBalancers } = await import("#clouds/digitalocean/load-balancers/capability.ts");
        return createLoadBalancers(dependencies);
      }),
      loadBalancerTags: createLazyCapability(async () => {
        const { createLoadBalancerTags } = await import(
          "#clouds/digitalocean/load-balancer-tags/capability.ts"
        );
        return createLoadBalancerTags(dependencies);
      }),
      serviceValidation: createLazyCapability(async () => {
        const { createServiceValidation } = await import(
          "#clouds/digitalocean/service-validation/capability.ts"
        );
        return createServiceValidation(dependencies);
      }),
      firewall: createLazyCapability(async () => {
        const { createFirewall } = await import("#clouds/digitalocean/firewall/capability.ts");
        return createFirewall(dependencies);
      }),
    },
  };
}

function buildQuota({ requestsPerSecond = QUOTA.refillPerSecond }: DigitalOceanCloudConfig): Quota {
  const refillPerSecond = Math.min(QUOTA.refillPerSecond, requestsPerSecond);
  return { refillPerSecond, burst: (QUOTA.burst * refillPerSecond) / QUOTA.refillPerSecond };
}

/**
 * Reads one droplet by id; undefined only if DigitalOcean itself says that it does not exist. A 404 with any
 * other body, as from a proxy or a wrong `apiURL`, is a fault.
 */
async function readDroplet(
  api: Api,
  id: string,
  callContext: CallContext,
): Promise<Outcome<Droplet | undefined>> {
  const template = "GET /v2/droplets/{id}";
  const answer = await api.get(
    { operation: "droplets_get", template, path: `/v2/droplets/${id}` },
    callContext,
  );
  if (answer.kind === "fault") {
    const { status, errorId } = answer.fault;
    return status === 404 && errorId === "not_found" ? ok(undefined) : answer;
  }
  const parsed = DropletAnswer.safeParse(answer.value);
  if (!parsed.success) return fault("Unavailable", `${template}: the answer is not a droplet`);
  if (parsed.data.droplet.id === id) return ok(parsed.data.droplet);
  return fault(
    "Unavailable",
    `${template}: asked for ${id}, the answer is droplet ${parsed.data.droplet.id}`,
  );
}

/** One page of the account's actions. */
export const ActionsPage = z.object({
  actions: z.array(
    z.looseObject({
      status: z.string(),
      type: z.string(),
      resource_id: z.union([z.int(), z.string()]).nullish(),
      resource_type: z.string(),
    }),
  ),
});

/** The largest page; actions are sorted newest first, and older ones are not read. */
const PAGE_SIZE = 200;

/**
 * Lists the ids of the droplets that the account's latest actions destroyed. It needs the scope
 * `actions:read`.
 */
async function listDestroyed(api: Api, callContext: CallContext): Promise<Outcome<ReadonlySet<string>>> {
  const template = "GET /v2/actions";
  const path = `/v2/actions?page=1&per_page=${PAGE_SIZE}`;
  const answer = await api.get({ operation: "actions_list", template, path }, callContext);
  if (answer.kind === "fault") return answer;
  const page = ActionsPage.safeParse(answer.value).data;
  if (page === undefined) return fault("Unavailable", `${template}: the answer is not a list of actions`);
  return ok(
    new Set(
      page.actions.flatMap(({ status, type, resource_id: id, resource_type: kind }) =>
        kind === "droplet" && type === "destroy" && status === "completed" && id != null ? [String(id)] : [],
      ),
    ),
  );
}

/** DigitalOcean does not show the account's number, and ids of droplets are unique across accounts. */
const ACCOUNT = "digitalocean";

/** Formats a droplet's network as in annotations of nodes. */
function formatNetwork({ region, vpc_uuid: vpc }: Droplet): string {
  return `${region?.slug || "-"}/${vpc || "-"}`;
}

/**
 * Converts a droplet to the type of all clouds. A droplet without a field that every usable one has is
 * `Unavailable`.
 */
function buildInstance(droplet: Droplet): Outcome<Instance> {
  const { id, status, size_slug: size, region } = droplet;
  if (!status) return buildMissingFault(id, "status");
  if (!size) return buildMissingFault(id, "size");
  if (!region?.slug) return buildMissingFault(id, "region");
  const addresses = buildAddresses(droplet);
  if (addresses.kind === "fault") return addresses;
  return ok({
    id,
    account: ACCOUNT,
    network: formatNetwork(droplet),
    // An unknown status proves nothing: neither that a droplet is gone nor that it is stopped.
    state: status === "off" ? "stopped" : "running",
    providerID: formatProviderID(id),
    type: size,
    zone: "",
    region: region.slug,
    addresses: addresses.value,
    labels: {},
  });
}

/** Returns the first address of each type, in the stock controller's order. */
function buildAddresses({ id, name, networks }: Droplet): Outcome<NodeAddress[]> {
  if (networks === undefined) return buildMissingFault(id, "list of networks");
  const internal = findFirst(networks.v4, "private");
  if (internal === undefined)
    return buildMissingFault(id, "private IPv4 address: a droplet outside of any VPC cannot be a node");
  const external = [findFirst(networks.v4, "public"), findFirst(networks.v6, "public")].filter(
    (each) => each !== undefined,
  );
  const invalid = [internal, ...external].find((each) => canonicalizeIp(each) === undefined);
  if (invalid !== undefined) return buildMissingFault(id, `address ("${invalid.slice(0, 64)}" is invalid)`);
  return ok([
    { type: "Hostname", address: name },
    { type: "InternalIP", address: canonicalizeIp(internal) ?? internal },
    ...external.map((each) => ({ type: "ExternalIP", address: canonicalizeIp(each) ?? each })),
  ]);
}

function findFirst(addresses: readonly DropletAddress[], type: string): string | undefined {
  return addresses.find((each) => each.type === type)?.ip_address;
}

function buildMissingFault(id: string, field: string): Outcome<never> {
  return fault("Unavailable", `the description of droplet ${id} lacks a valid ${field}`);
}

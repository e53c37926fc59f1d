import type { Cloud } from "#clouds/cloud.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { buildDependencies, formatUserAgent, type HttpCloudOptions } from "#clouds/http/cloud-options.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { createApis } from "#clouds/openstack/apis.ts";
import { type Auth, createAuth } from "#clouds/openstack/auth.ts";
import { checkNetwork } from "#clouds/openstack/check-network.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { buildInstance } from "#clouds/openstack/instance.ts";
import { listFew, listServers } from "#clouds/openstack/list-servers.ts";
import { checkOwnership, formatNetwork, type Ownership } from "#clouds/openstack/ownership.ts";
import { parseProviderID } from "#clouds/openstack/provider-id.ts";
import { readServer } from "#clouds/openstack/read-server.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { hasEnded } from "#clouds/openstack/state.ts";
import type { Environment } from "#clouds/provider.ts";
import { readAuthority } from "#platforms/secrets/read-authority.ts";

/** Dependencies of an OpenStack cloud that tests replace. */
export interface OpenStackCloudOptions extends HttpCloudOptions {
  /** Trusted certificates of the services, as PEM. */
  readonly ca?: string | undefined;
}

/** Seconds of the allowed rate that may be sent at once. */
const BURST_SECONDS = 5;

/** Creates the cloud without signing in; rejects if its secret or certificates are unreadable. */
export async function loadOpenStackCloud(
  config: OpenStackCloudConfig,
  options: OpenStackCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const auth = createAuth(config, environment, options.clusterName ?? config.region);
  const [ca] = await Promise.all([readAuthority(config["ca-file"]), auth.buildBody()]);
  return createOpenStackCloud(config, auth, { ca, ...options });
}

/**
 * Creates the cloud of one project's servers in one region. Token, budget and lists live as long as the
 * returned object.
 */
export function createOpenStackCloud(
  config: OpenStackCloudConfig,
  auth: Auth,
  options: OpenStackCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = buildDependencies(options);
  const { ca } = options;
  const rate = config["requests-per-second"];
  const quota = { burst: Math.max(BURST_SECONDS, rate * BURST_SECONDS), refillPerSecond: rate };
  const budget = createBudget(quota, 0, now);
  const userAgent = formatUserAgent(options.clusterName ?? config.region);
  const apis = createApis({ config, auth, ca, budget, userAgent, sleep, now, wallClock, random });
  // Before Keystone names the project, servers are not compared with it.
  let ownership: Ownership = { ...config, project: "" };
  const filter = () => ({
    project: ownership.project,
    tag: config["server-tag"],
    needsPorts: config["network-id"] !== undefined,
  });
  const sources = createSources<Server>({
    lists: [(callContext) => listServers(apis, filter(), callContext, now)],
    read: (id, callContext) => readServer(apis, { id, project: ownership.project }, callContext),
    checkOwnership: (server, node) => checkOwnership(ownership, server, node),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "openstack",
    title: "OpenStack",
    machine: "server",
    budget,
    parseProviderID: (text) => parseProviderID(text, config.region),
    async prepare(callContext) {
      const session = await apis.getSession(callContext);
      if (session.kind === "fault") return session.fault;
      ownership = { ...config, project: session.value.project };
      return undefined;
    },
    sources,
    listFew: (callContext) => listFew(apis, filter(), callContext),
    isAlive: (server) => !hasEnded(server),
    buildInstance: (server) => buildInstance(server, config, ownership),
    locate: ({ id }) => ({
      id,
      account: ownership.project,
      network: formatNetwork(ownership),
      region: config.region,
    }),
    async check(callContext) {
      const session = await apis.getSession(callContext);
      const id = config["network-id"];
      if (session.kind === "fault" || id === undefined) return session;
      return checkNetwork(apis, { id, project: session.value.project }, callContext);
    },
    close: () => apis.close(),
  });
}

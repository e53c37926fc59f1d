import type { Cloud } from "#clouds/cloud.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { type HttpCloudOptions, userAgentOf, worldOf } from "#clouds/http/cloud-options.ts";
import type { Environment } from "#clouds/kind.ts";
import { createListedCloud } from "#clouds/listed/listed-cloud.ts";
import { createSources } from "#clouds/listed/sources.ts";
import { createApis } from "#clouds/openstack/apis.ts";
import { type Auth, authOf } from "#clouds/openstack/auth.ts";
import { networkOf, notOurs, type Ownership } from "#clouds/openstack/belonging.ts";
import { checkNetwork } from "#clouds/openstack/check-network.ts";
import { instanceOf } from "#clouds/openstack/instance.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import { listFew, listServers } from "#clouds/openstack/list-servers.ts";
import { parseProviderID } from "#clouds/openstack/provider-id.ts";
import { readServer } from "#clouds/openstack/read-server.ts";
import type { Server } from "#clouds/openstack/server.ts";
import { hasEnded } from "#clouds/openstack/state.ts";
import { readAuthority } from "#clouds/secrets/read-authority.ts";

/** The world of an OpenStack cloud, where it is not the real one. */
export interface OpenStackCloudOptions extends HttpCloudOptions {
  /** Certificates, as PEM, by which the services are known. */
  readonly ca?: string | undefined;
}

/** Requests that may go at once, where so many a second are allowed: those of a few seconds. */
const BURST_SECONDS = 5;

/** Makes the cloud; rejects where its secret or its certificates cannot be had. Nothing is signed in to yet. */
export async function loadOpenStackCloud(
  config: OpenStackCloudConfig,
  options: OpenStackCloudOptions = {},
  environment: Environment = process.env,
): Promise<Cloud> {
  const auth = authOf(config, environment, options.clusterName ?? config.region);
  const [ca] = await Promise.all([readAuthority(config["ca-file"]), auth.body()]);
  return createOpenStackCloud(config, auth, { ca, ...options });
}

/** OpenStack: the servers of one project in one region. Token, budget and lists live as long as what is returned. */
export function createOpenStackCloud(
  config: OpenStackCloudConfig,
  auth: Auth,
  options: OpenStackCloudOptions = {},
): Cloud {
  const { sleep, now, wallClock, random, maxListAgeMs } = worldOf(options);
  const { ca } = options;
  const rate = config["requests-per-second"];
  const quota = { burst: Math.max(BURST_SECONDS, rate * BURST_SECONDS), refillPerSecond: rate };
  const budget = createBudget(quota, 0, now);
  const userAgent = userAgentOf(options.clusterName ?? config.region);
  const apis = createApis({ config, auth, ca, budget, userAgent, sleep, now, wallClock, random });
  // Before Keystone has said it nothing is compared with it.
  let ownership: Ownership = { ...config, project: "" };
  const filter = () => ({
    project: ownership.project,
    tag: config["server-tag"],
    byPorts: config["network-id"] !== undefined,
  });
  const sources = createSources<Server>({
    lists: [(turn) => listServers(apis, filter(), turn, now)],
    read: (id, turn) => readServer(apis, { id, project: ownership.project }, turn),
    notOurs: (server, node) => notOurs(ownership, server, node),
    maxListAgeMs,
    now,
  });
  return createListedCloud({
    provider: "openstack",
    title: "OpenStack",
    machine: "server",
    budget,
    parseProviderID: (text) => parseProviderID(text, config.region),
    async prepare(turn) {
      const session = await apis.session(turn);
      if (session.kind === "fault") return session.fault;
      ownership = { ...config, project: session.value.project };
      return undefined;
    },
    sources,
    listFew: (turn) => listFew(apis, filter(), turn),
    isAlive: (server) => !hasEnded(server),
    instanceOf: (server) => instanceOf(server, config, ownership),
    locate: ({ id }) => ({
      id,
      account: ownership.project,
      network: networkOf(ownership),
      region: config.region,
    }),
    async check(turn) {
      const session = await apis.session(turn);
      const id = config["network-id"];
      if (session.kind === "fault" || id === undefined) return session;
      return checkNetwork(apis, { id, project: session.value.project }, turn);
    },
    close: () => apis.close(),
  });
}

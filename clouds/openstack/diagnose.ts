import type { Diagnosis } from "#clouds/diagnosis.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Environment, LoadCloudOptions } from "#clouds/kind.ts";
import { createApis } from "#clouds/openstack/apis.ts";
import { authOf } from "#clouds/openstack/auth.ts";
import { notOurs } from "#clouds/openstack/belonging.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/kind.ts";
import { listServers } from "#clouds/openstack/list-servers.ts";
import { readAuthority } from "#clouds/secrets/read-authority.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { failed, ok, warning } from "#core/finding.ts";

/** Looks for what is wrong with the configuration of a cluster on OpenStack; rejects where its secret cannot be had. */
export async function diagnoseOpenStack(
  config: OpenStackCloudConfig,
  options: LoadCloudOptions = {},
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { region, "network-id": network, "server-tag": tag, "server-metadata": metadata = {} } = config;
  const auth = authOf(config, environment, options.clusterName ?? region);
  const [ca] = await Promise.all([readAuthority(config["ca-file"]), auth.body()]);
  const now = () => performance.now();
  const apis = createApis({
    config,
    auth,
    ca,
    budget: createBudget({ burst: 50, refillPerSecond: 10 }, 0, now),
    userAgent: "serverless-ccm (doctor)",
    sleep: sleepFor,
    now,
    wallClock: Date.now,
    random: Math.random,
  });
  const keystone = createHttpClient(config["auth-url"], { authority: ca });
  const turnOf = (signal: AbortSignal) => ({ signal, meter: createMeter() });
  const where = [
    network && `network ${network}`,
    tag && `tag ${tag}`,
    ...Object.entries(metadata).map((pair) => `metadata ${pair.join("=")}`),
  ]
    .filter(Boolean)
    .join(", ");
  return {
    async credentials(signal) {
      const session = await apis.session(turnOf(signal));
      if (session.kind === "ok") return ok(`Keystone gives a token for project ${session.value.project}`);
      const { code, message } = session.fault;
      return failed(message, code === "Denied" ? SIGN_IN : RETRY);
    },
    async network(signal) {
      const turn = turnOf(signal);
      const session = await apis.session(turn);
      if (session.kind === "fault") return failed(session.fault.message, SIGN_IN);
      const { project } = session.value;
      const filter = { project, tag, byPorts: network !== undefined };
      const listing = await listServers(apis, filter, turn, now);
      if (listing.incomplete !== undefined) return failed(listing.incomplete.message, RETRY);
      const faults = [...listing.byId.values()].map((server) =>
        notOurs({ ...config, project }, server, undefined),
      );
      const own = faults.filter((fault) => fault === undefined).length;
      if (own > 0) return ok(`${where} in ${region}: ${own} ${own === 1 ? "server" : "servers"}`);
      const because = faults.find((fault) => fault !== undefined)?.message;
      const example = because === undefined ? "" : `; for example, ${because}`;
      return warning(
        `${where} in ${region}: no server${example}`,
        "see network-id, server-tag, server-metadata, region and the project that is signed in to",
      );
    },
    async clockAheadMs(signal) {
      const { headers } = await keystone.send({ method: "GET", path: "/", headers: {} }, signal);
      const ahead = Date.parse(headers["date"] ?? "") - Date.now();
      if (Number.isNaN(ahead)) return undefined;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    close() {
      apis.close();
      keystone.close();
    },
  };
}

const RETRY = "run doctor again; see auth-url, ca-file, the network, and the health of the cloud";
const SIGN_IN = "see who signs in and to which project, its secret, region and os-endpoint-type";

import type { Diagnosis } from "#clouds/diagnosis.ts";
import { createBudget } from "#clouds/http/budget.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { createMeter } from "#clouds/http/meter.ts";
import { createApis } from "#clouds/openstack/apis.ts";
import { createAuth } from "#clouds/openstack/auth.ts";
import type { OpenStackCloudConfig } from "#clouds/openstack/config.ts";
import { listServers } from "#clouds/openstack/list-servers.ts";
import { checkOwnership } from "#clouds/openstack/ownership.ts";
import type { Environment, LoadCloudOptions } from "#clouds/provider.ts";
import { sleepFor } from "#clouds/sleep.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { readAuthority } from "#platforms/secrets/read-secret.ts";

/** Checks the configuration of a cluster on OpenStack; rejects if its secret cannot be read. */
export async function diagnoseOpenStack(
  config: OpenStackCloudConfig,
  options: LoadCloudOptions = {},
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { region, "network-id": network, "server-tag": tag, "server-metadata": metadata = {} } = config;
  const auth = createAuth(config, environment, options.clusterName ?? region);
  const [ca] = await Promise.all([readAuthority(config["ca-file"]), auth.buildBody()]);
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
  const createCallContext = (signal: AbortSignal) => ({ signal, meter: createMeter() });
  const where = [
    network && `network ${network}`,
    tag && `tag ${tag}`,
    ...Object.entries(metadata).map((pair) => `metadata ${pair.join("=")}`),
  ]
    .filter(Boolean)
    .join(", ");
  return {
    async credentials(signal) {
      const session = await apis.getSession(createCallContext(signal));
      if (session.kind === "ok")
        return reportOk(`Keystone gives a token for project ${session.value.project}`);
      const { code, message } = session.fault;
      return reportFailure(message, code === "Denied" ? SIGN_IN : RETRY);
    },
    async network(signal) {
      const callContext = createCallContext(signal);
      const session = await apis.getSession(callContext);
      if (session.kind === "fault") return reportFailure(session.fault.message, SIGN_IN);
      const { project } = session.value;
      const filter = { project, tag, needsPorts: network !== undefined };
      const listing = await listServers(apis, filter, callContext, now);
      if (listing.incomplete !== undefined) return reportFailure(listing.incomplete.message, RETRY);
      const faults = [...listing.byId.values()].map((server) =>
        checkOwnership({ ...config, project }, server, undefined),
      );
      const ownServers = faults.filter((fault) => fault === undefined).length;
      if (ownServers > 0)
        return reportOk(`${where} in ${region}: ${ownServers} ${ownServers === 1 ? "server" : "servers"}`);
      const reason = faults.find((fault) => fault !== undefined)?.message;
      const example = reason === undefined ? "" : `; for example, ${reason}`;
      return reportWarning(
        `${where} in ${region}: no server${example}`,
        "see network-id, server-tag, server-metadata, region and the project of the token",
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
const SIGN_IN = "check the user, its secret and its project, region and os-endpoint-type";

import type { Diagnosis } from "#clouds/diagnosis.ts";
import { DEFAULT_ENDPOINT, type HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/config.ts";
import { parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { findNetwork } from "#clouds/hcloud/network.ts";
import { readError } from "#clouds/hcloud/read-error.ts";
import { checkOwnership, Server, ServersPage } from "#clouds/hcloud/server.ts";
import { createSigner } from "#clouds/http/api.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { createDoctorApi } from "#clouds/http/doctor-api.ts";
import { memoize } from "#clouds/http/memoize.ts";
import { createMeter } from "#clouds/http/meter.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { ok } from "#clouds/outcome.ts";
import type { Environment, LoadCloudOptions } from "#clouds/provider.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";

/** One page is enough for a check. */
const PAGE_SIZE = 50;

/** Checks the configuration of a cluster at Hetzner; rejects if its token cannot be read. */
export async function diagnoseHcloud(
  config: HcloudCloudConfig,
  options: LoadCloudOptions = {},
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { labelSelector } = config;
  const authorize = createAuthorizer(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? "hcloud",
  });
  await authorize();
  const url = config.endpoint ?? DEFAULT_ENDPOINT;
  const hetzner = createDoctorApi({ url, sign: createSigner(authorize), readError });

  const listServers = memoize((signal: AbortSignal): Promise<Outcome<unknown>> => {
    const filterParameters = labelSelector === undefined ? {} : { label_selector: labelSelector };
    const query = new URLSearchParams({ per_page: String(PAGE_SIZE), sort: "id:asc", ...filterParameters });
    return hetzner.get(`/servers?${query}`, SERVERS, signal);
  });

  /** Returns the id of the configured network; undefined if none is configured. */
  async function findConfiguredNetwork(signal: AbortSignal): Promise<Outcome<string | undefined>> {
    if (config.network === undefined) return ok(undefined);
    return findNetwork(hetzner.api, config.network, { signal, meter: createMeter() });
  }

  return {
    async credentials(signal) {
      const outcome = await listServers(signal);
      if (outcome.kind === "ok") return reportOk("the token may list servers");
      const { code, message } = outcome.fault;
      return reportFailure(message, code === "Denied" ? TOKEN : RETRY);
    },
    async network(signal) {
      const id = await findConfiguredNetwork(signal);
      if (id.kind === "fault") return reportFailure(id.fault.message, "see network, and the token's project");
      const outcome = await listServers(signal);
      if (outcome.kind === "fault") return reportFailure(outcome.fault.message, RETRY);
      const page = ServersPage.safeParse(outcome.value).data;
      if (page === undefined) return reportFailure(`${SERVERS}: no list of servers`, RETRY);
      const ownership = {
        network: id.value,
        labelSelector,
        requirements: parseLabelSelector(labelSelector ?? "") ?? [],
      };
      const all = page.servers.flatMap((each) => Server.safeParse(each).data ?? []);
      const ownServers = all.filter((server) => checkOwnership(ownership, server) === undefined).length;
      const where = [id.value && `network ${id.value}`, labelSelector && `labels ${labelSelector}`]
        .filter(Boolean)
        .join(", ");
      const count = page.meta.pagination.next_page === null ? `${ownServers}` : `at least ${ownServers}`;
      if (ownServers > 0) return reportOk(`${where}: ${count} ${ownServers === 1 ? "server" : "servers"}`);
      const reason = all.flatMap((server) => checkOwnership(ownership, server)?.message ?? [])[0];
      const example = reason === undefined ? "" : `; for example, ${reason}`;
      return reportWarning(
        `${where}: no server${example}`,
        "see network, labelSelector and the token's project",
      );
    },
    async clockAheadMs(signal) {
      await listServers(signal);
      return hetzner.clockAheadMs();
    },
    close: hetzner.close,
  };
}

const SERVERS = "GET /servers";
const RETRY = "run doctor again; see endpoint, the network, and Hetzner's own health";
const TOKEN = "see that the token is the right project's and was not revoked; reading suffices";

import type { Diagnosis } from "#clouds/diagnosis.ts";
import { notOurs } from "#clouds/hcloud/belonging.ts";
import { DEFAULT_ENDPOINT, type HcloudCloudConfig, TOKEN_VARIABLE } from "#clouds/hcloud/kind.ts";
import { parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { isServerId } from "#clouds/hcloud/provider-id.ts";
import { readError } from "#clouds/hcloud/read-error.ts";
import { NetworksPage, Server, ServersPage } from "#clouds/hcloud/server.ts";
import { classify, unanswered } from "#clouds/http/classify.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment, LoadCloudOptions } from "#clouds/kind.ts";
import { fault, ok as good } from "#clouds/outcome.ts";
import { failed, ok, warning } from "#core/finding.ts";

/** One page tells enough. */
const PAGE_SIZE = 50;

/** Looks for what is wrong with the configuration of a cluster at Hetzner; rejects where its token cannot be had. */
export async function diagnoseHcloud(
  config: HcloudCloudConfig,
  options: LoadCloudOptions = {},
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { labelSelector } = config;
  const authorize = tokenOf(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: options.clusterName ?? "hcloud",
  });
  await authorize();
  const client = createHttpClient(config.endpoint ?? DEFAULT_ENDPOINT);
  let clockAheadMs: number | undefined;
  let listed: Promise<Outcome<unknown>> | undefined;

  async function ask(path: string, what: string, signal: AbortSignal): Promise<Outcome<unknown>> {
    try {
      const headers = { accept: "application/json", authorization: await authorize() };
      const answer = await client.send({ method: "GET", path, headers }, signal);
      const date = Date.parse(answer.headers["date"] ?? "");
      if (!Number.isNaN(date)) clockAheadMs = aheadBy(date - Date.now());
      return classify(answer, what, readError);
    } catch (cause) {
      return { kind: "fault", fault: unanswered(cause, what) };
    }
  }

  function servers(signal: AbortSignal): Promise<Outcome<unknown>> {
    const narrowed = labelSelector === undefined ? {} : { label_selector: labelSelector };
    const query = new URLSearchParams({ per_page: String(PAGE_SIZE), sort: "id:asc", ...narrowed });
    listed ??= ask(`/servers?${query}`, SERVERS, signal);
    return listed;
  }

  /** The id of the configured network; undefined where none is configured. */
  async function network(signal: AbortSignal): Promise<Outcome<string | undefined>> {
    if (config.network === undefined) return good(undefined);
    const isId = isServerId(config.network);
    const path = isId
      ? `/networks/${config.network}`
      : `/networks?${new URLSearchParams({ name: config.network })}`;
    const answer = await ask(path, isId ? "GET /networks/{id}" : "GET /networks", signal);
    if (answer.kind === "fault") return answer;
    if (isId) return good(config.network);
    const found = NetworksPage.safeParse(answer.value).data?.networks[0];
    return found === undefined
      ? fault("Denied", `the project has no network named ${config.network}`)
      : good(found.id);
  }

  return {
    async credentials(signal) {
      const outcome = await servers(signal);
      if (outcome.kind === "ok") return ok("the token may list servers");
      const { code, message } = outcome.fault;
      return failed(message, code === "Denied" ? TOKEN : RETRY);
    },
    async network(signal) {
      const id = await network(signal);
      if (id.kind === "fault") return failed(id.fault.message, "see network, and the token's project");
      const outcome = await servers(signal);
      const page = outcome.kind === "ok" ? ServersPage.safeParse(outcome.value).data : undefined;
      if (page === undefined) return failed(`${SERVERS}: no list of servers`, RETRY);
      const ownership = {
        network: id.value,
        labelSelector,
        requirements: parseLabelSelector(labelSelector ?? "") ?? [],
      };
      const all = page.servers.flatMap((each) => Server.safeParse(each).data ?? []);
      const own = all.filter((server) => notOurs(ownership, server) === undefined).length;
      const where = [id.value && `network ${id.value}`, labelSelector && `labels ${labelSelector}`]
        .filter(Boolean)
        .join(", ");
      const least = page.meta.pagination.next_page === null ? `${own}` : `at least ${own}`;
      if (own > 0) return ok(`${where}: ${least} ${own === 1 ? "server" : "servers"}`);
      const because = all.flatMap((server) => notOurs(ownership, server)?.message ?? [])[0];
      const example = because === undefined ? "" : `; for example, ${because}`;
      return warning(`${where}: no server${example}`, "see network, labelSelector and the token's project");
    },
    async clockAheadMs(signal) {
      await servers(signal);
      return clockAheadMs;
    },
    close: () => client.close(),
  };
}

/** Dates of HTTP have whole seconds. */
function aheadBy(ms: number): number {
  return ms < 0 && ms > -1_000 ? 0 : ms;
}

const SERVERS = "GET /servers";
const RETRY = "run doctor again; see endpoint, the network, and Hetzner's own health";
const TOKEN = "see that the token is the right project's and was not revoked; reading suffices";

import type { Diagnosis } from "#clouds/diagnosis.ts";
import { checkRegionSlug, REGIONS_PATH } from "#clouds/digitalocean/check-region.ts";
import {
  DEFAULT_API_URL,
  type DigitalOceanCloudConfig,
  TOKEN_VARIABLE,
} from "#clouds/digitalocean/config.ts";
import { ACCOUNT_PATH, checkAccount } from "#clouds/digitalocean/diagnose-account.ts";
import { diagnoseScopes } from "#clouds/digitalocean/diagnose-scopes.ts";
import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { checkOwnership } from "#clouds/digitalocean/ownership.ts";
import { readError } from "#clouds/digitalocean/read-error.ts";
import { buildUnansweredFault, classify } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpAnswer } from "#clouds/http/client.ts";
import { createAuthorizer } from "#clouds/http/create-authorizer.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Environment } from "#clouds/provider.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";

/** One page is enough for a check. */
const PAGE_SIZE = 200;

/** Checks the configuration of a cluster on DigitalOcean; rejects if its token cannot be read. */
export async function diagnoseDigitalOcean(
  config: DigitalOceanCloudConfig,
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { region, vpc, dropletTag } = config;
  const authorize = createAuthorizer(config, {
    variable: TOKEN_VARIABLE,
    key: "tokenFile",
    environment,
    clusterName: region,
  });
  await authorize();
  const client = createHttpClient(config.apiURL ?? DEFAULT_API_URL);
  const tag = dropletTag === undefined ? "" : `&tag_name=${encodeURIComponent(dropletTag)}`;
  const dropletsPath = `/v2/droplets?per_page=${PAGE_SIZE}${tag}`;
  const asked = new Map<string, Promise<{ readonly answer: HttpAnswer; readonly at: number }>>();

  async function send(path: string, signal: AbortSignal) {
    const headers = { accept: "application/json", authorization: await authorize() };
    const answer = await client.send({ method: "GET", path, headers }, signal);
    return { answer, at: Date.now() };
  }

  /** Reads each path only once. */
  function once(path: string, signal: AbortSignal) {
    const answered = asked.get(path) ?? send(path, signal);
    asked.set(path, answered);
    return answered;
  }

  async function look(path: string, signal: AbortSignal): Promise<Outcome<unknown>> {
    const what = `GET ${path.replace(/\?.*$/, "")}`;
    try {
      return classify((await once(path, signal)).answer, what, readError);
    } catch (cause) {
      return { kind: "fault", fault: buildUnansweredFault(cause, what) };
    }
  }

  /** Returns what is wrong with the region itself; undefined if nothing is, or if it cannot be checked. */
  async function wrongRegion(signal: AbortSignal): Promise<string | undefined> {
    const outcome = await look(REGIONS_PATH, signal);
    return outcome.kind === "ok" ? checkRegionSlug(region, outcome.value) : undefined;
  }

  return {
    async credentials(signal) {
      const outcome = await look(dropletsPath, signal);
      if (outcome.kind === "fault")
        return reportFailure(outcome.fault.message, outcome.fault.code === "Denied" ? TOKEN : RETRY);
      const { success, data } = DropletsPage.safeParse(outcome.value);
      if (!success) return reportFailure(NO_LIST, RETRY);
      const account = await look(ACCOUNT_PATH, signal);
      return checkAccount(account.kind === "ok" ? account.value : undefined, data.meta?.total);
    },
    async network(signal) {
      const outcome = await look(dropletsPath, signal);
      const listed = outcome.kind === "ok" ? DropletsPage.safeParse(outcome.value).data : undefined;
      if (listed === undefined) return reportFailure(NO_LIST, RETRY);
      const droplets = listed.droplets.flatMap((each) => Droplet.safeParse(each).data ?? []);
      const own = droplets.filter((droplet) => checkOwnership(config, droplet) === undefined).length;
      const where = [vpc && `VPC ${vpc}`, dropletTag && `tag ${dropletTag}`].filter(Boolean).join(", ");
      const isWhole = listed.links.pages?.next === undefined;
      const least = isWhole ? `${own}` : `at least ${own}`;
      if (own > 0) return reportOk(`${where} in ${region}: ${least} ${own === 1 ? "droplet" : "droplets"}`);
      const wrong = await wrongRegion(signal);
      if (wrong !== undefined) return reportFailure(wrong, "set region to the slug of the cluster's region");
      const because = droplets.flatMap((droplet) => checkOwnership(config, droplet)?.message ?? [])[0];
      const example = because === undefined ? "" : `; for example, ${because}`;
      return reportWarning(
        `${where} in ${region}: no droplet${isWhole ? "" : ` among the first ${PAGE_SIZE}`}${example}`,
        "see vpc, dropletTag, region and the token's team",
      );
    },
    async clockAheadMs(signal) {
      const { answer, at } = await once(dropletsPath, signal);
      const date = Date.parse(answer.headers["date"] ?? "");
      if (Number.isNaN(date)) return undefined;
      const ahead = date - at;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    permissions: (signal) => diagnoseScopes(config, look, signal),
    close: () => client.close(),
  };
}

const NO_LIST = "GET /v2/droplets: no list of droplets";
const RETRY = "run doctor again; see apiURL, the network, and DigitalOcean's own health";
const TOKEN = "see that the token is the right team's, has not expired, and has the scope droplet:read";

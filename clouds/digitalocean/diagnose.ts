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
  const requests = new Map<string, Promise<{ readonly answer: HttpAnswer; readonly at: number }>>();

  async function send(path: string, signal: AbortSignal) {
    const headers = { accept: "application/json", authorization: await authorize() };
    const answer = await client.send({ method: "GET", path, headers }, signal);
    return { answer, at: Date.now() };
  }

  /** Reads each path only once. */
  function readOnce(path: string, signal: AbortSignal) {
    const request = requests.get(path) ?? send(path, signal);
    requests.set(path, request);
    return request;
  }

  async function readPath(path: string, signal: AbortSignal): Promise<Outcome<unknown>> {
    const template = `GET ${path.replace(/\?.*$/, "")}`;
    try {
      return classify((await readOnce(path, signal)).answer, template, readError);
    } catch (cause) {
      return { kind: "fault", fault: buildUnansweredFault(cause, template) };
    }
  }

  /** Returns what is wrong with the region itself; undefined if nothing is, or if it cannot be checked. */
  async function findRegionError(signal: AbortSignal): Promise<string | undefined> {
    const outcome = await readPath(REGIONS_PATH, signal);
    return outcome.kind === "ok" ? checkRegionSlug(region, outcome.value) : undefined;
  }

  return {
    async credentials(signal) {
      const outcome = await readPath(dropletsPath, signal);
      if (outcome.kind === "fault")
        return reportFailure(outcome.fault.message, outcome.fault.code === "Denied" ? TOKEN : RETRY);
      const { success, data } = DropletsPage.safeParse(outcome.value);
      if (!success) return reportFailure(NO_LIST, RETRY);
      const account = await readPath(ACCOUNT_PATH, signal);
      return checkAccount(account.kind === "ok" ? account.value : undefined, data.meta?.total);
    },
    async network(signal) {
      const outcome = await readPath(dropletsPath, signal);
      const listed = outcome.kind === "ok" ? DropletsPage.safeParse(outcome.value).data : undefined;
      if (listed === undefined) return reportFailure(NO_LIST, RETRY);
      const droplets = listed.droplets.flatMap((each) => Droplet.safeParse(each).data ?? []);
      const ownDroplets = droplets.filter((droplet) => checkOwnership(config, droplet) === undefined).length;
      const where = [vpc && `VPC ${vpc}`, dropletTag && `tag ${dropletTag}`].filter(Boolean).join(", ");
      const isComplete = listed.links.pages?.next === undefined;
      const count = isComplete ? `${ownDroplets}` : `at least ${ownDroplets}`;
      if (ownDroplets > 0)
        return reportOk(`${where} in ${region}: ${count} ${ownDroplets === 1 ? "droplet" : "droplets"}`);
      const regionError = await findRegionError(signal);
      if (regionError !== undefined)
        return reportFailure(regionError, "set region to the slug of the cluster's region");
      const reason = droplets.flatMap((droplet) => checkOwnership(config, droplet)?.message ?? [])[0];
      const example = reason === undefined ? "" : `; for example, ${reason}`;
      return reportWarning(
        `${where} in ${region}: no droplet${isComplete ? "" : ` among the first ${PAGE_SIZE}`}${example}`,
        "see vpc, dropletTag, region and the token's team",
      );
    },
    async clockAheadMs(signal) {
      const { answer, at } = await readOnce(dropletsPath, signal);
      const date = Date.parse(answer.headers["date"] ?? "");
      if (Number.isNaN(date)) return undefined;
      const ahead = date - at;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    permissions: (signal) => diagnoseScopes(config, readPath, signal),
    close: () => client.close(),
  };
}

const NO_LIST = "GET /v2/droplets: no list of droplets";
const RETRY = "run doctor again; see apiURL, the network, and DigitalOcean's own health";
const TOKEN = "see that the token is the right team's, has not expired, and has the scope droplet:read";

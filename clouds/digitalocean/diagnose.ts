import type { Diagnosis } from "#clouds/diagnosis.ts";
import { notOurs } from "#clouds/digitalocean/belonging.ts";
import { faultOfRegion, REGIONS_PATH } from "#clouds/digitalocean/check-region.ts";
import { ACCOUNT_PATH, findingOnAccount } from "#clouds/digitalocean/diagnose-account.ts";
import { diagnoseScopes } from "#clouds/digitalocean/diagnose-scopes.ts";
import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { DEFAULT_API_URL, type DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/kind.ts";
import { readError } from "#clouds/digitalocean/read-error.ts";
import { classify, unanswered } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpAnswer } from "#clouds/http/client.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { failed, ok, warning } from "#core/finding.ts";

/** One page tells enough. */
const PAGE_SIZE = 200;

/** Looks for what is wrong with the configuration of a cluster on DigitalOcean; rejects where its token cannot be had. */
export async function diagnoseDigitalOcean(
  config: DigitalOceanCloudConfig,
  environment: Environment = process.env,
): Promise<Diagnosis> {
  const { region, vpc, dropletTag } = config;
  const authorize = tokenOf(config, {
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

  /** Each path is asked for once. */
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
      return { kind: "fault", fault: unanswered(cause, what) };
    }
  }

  /** What is wrong with the region itself; undefined where nothing is, or where nobody can tell. */
  async function wrongRegion(signal: AbortSignal): Promise<string | undefined> {
    const outcome = await look(REGIONS_PATH, signal);
    return outcome.kind === "ok" ? faultOfRegion(region, outcome.value) : undefined;
  }

  return {
    async credentials(signal) {
      const outcome = await look(dropletsPath, signal);
      if (outcome.kind === "fault")
        return failed(outcome.fault.message, outcome.fault.code === "Denied" ? TOKEN : RETRY);
      const { success, data } = DropletsPage.safeParse(outcome.value);
      if (!success) return failed(NO_LIST, RETRY);
      const account = await look(ACCOUNT_PATH, signal);
      return findingOnAccount(account.kind === "ok" ? account.value : undefined, data.meta?.total);
    },
    async network(signal) {
      const outcome = await look(dropletsPath, signal);
      const listed = outcome.kind === "ok" ? DropletsPage.safeParse(outcome.value).data : undefined;
      if (listed === undefined) return failed(NO_LIST, RETRY);
      const droplets = listed.droplets.flatMap((each) => Droplet.safeParse(each).data ?? []);
      const own = droplets.filter((droplet) => notOurs(config, droplet) === undefined).length;
      const where = [vpc && `VPC ${vpc}`, dropletTag && `tag ${dropletTag}`].filter(Boolean).join(", ");
      const isWhole = listed.links.pages?.next === undefined;
      const least = isWhole ? `${own}` : `at least ${own}`;
      if (own > 0) return ok(`${where} in ${region}: ${least} ${own === 1 ? "droplet" : "droplets"}`);
      const wrong = await wrongRegion(signal);
      if (wrong !== undefined) return failed(wrong, "set region to the slug of the cluster's region");
      const because = droplets.flatMap((droplet) => notOurs(config, droplet)?.message ?? [])[0];
      const example = because === undefined ? "" : `; for example, ${because}`;
      return warning(
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

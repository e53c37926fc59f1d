import type { Diagnosis } from "#clouds/diagnosis.ts";
import { notOurs } from "#clouds/digitalocean/belonging.ts";
import { faultOfRegion, REGIONS_PATH, REGIONS_TEMPLATE } from "#clouds/digitalocean/check-region.ts";
import { Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { DEFAULT_API_URL, type DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/kind.ts";
import { readError } from "#clouds/digitalocean/read-error.ts";
import { classify, unanswered } from "#clouds/http/classify.ts";
import { createHttpClient, type HttpAnswer } from "#clouds/http/client.ts";
import { tokenOf } from "#clouds/http/token-of.ts";
import type { Environment } from "#clouds/kind.ts";
import { failed, ok, warning } from "#core/finding.ts";

/** One page tells enough, and costs one request of the token's hourly quota. */
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
  let answered: Promise<{ readonly answer: HttpAnswer; readonly at: number }> | undefined;

  async function ask(signal: AbortSignal): Promise<{ readonly answer: HttpAnswer; readonly at: number }> {
    const headers = { accept: "application/json", authorization: await authorize() };
    const answer = await client.send(
      { method: "GET", path: `/v2/droplets?per_page=${PAGE_SIZE}${tag}`, headers },
      signal,
    );
    return { answer, at: Date.now() };
  }

  async function page(signal: AbortSignal) {
    answered ??= ask(signal);
    try {
      return classify((await answered).answer, WHAT, readError);
    } catch (cause) {
      return { kind: "fault", fault: unanswered(cause, WHAT) } as const;
    }
  }

  /** What is wrong with the region itself; undefined where nothing is, or where nobody can tell. */
  async function wrongRegion(signal: AbortSignal): Promise<string | undefined> {
    const headers = { accept: "application/json", authorization: await authorize() };
    const request = { method: "GET", path: REGIONS_PATH, headers } as const;
    const answer = await client.send(request, signal).catch(() => undefined);
    const outcome = answer && classify(answer, REGIONS_TEMPLATE, readError);
    return outcome?.kind === "ok" ? faultOfRegion(region, outcome.value) : undefined;
  }

  return {
    async credentials(signal) {
      const outcome = await page(signal);
      if (outcome.kind === "ok") return ok("the token may list droplets");
      const { code, message } = outcome.fault;
      return failed(message, code === "Denied" ? TOKEN : RETRY);
    },
    async network(signal) {
      const outcome = await page(signal);
      const listed = outcome.kind === "ok" ? DropletsPage.safeParse(outcome.value).data : undefined;
      if (listed === undefined) return failed(`${WHAT}: no list of droplets`, RETRY);
      const droplets = listed.droplets.flatMap((each) => Droplet.safeParse(each).data ?? []);
      const own = droplets.filter((droplet) => notOurs(config, droplet) === undefined).length;
      const where = [vpc && `VPC ${vpc}`, dropletTag && `tag ${dropletTag}`].filter(Boolean).join(", ");
      const least = listed.links.pages?.next === undefined ? `${own}` : `at least ${own}`;
      if (own > 0) return ok(`${where} in ${region}: ${least} ${own === 1 ? "droplet" : "droplets"}`);
      const wrong = await wrongRegion(signal);
      if (wrong !== undefined) return failed(wrong, "set region to the slug of the cluster's region");
      const because = droplets.flatMap((droplet) => notOurs(config, droplet)?.message ?? [])[0];
      const example = because === undefined ? "" : `; for example, ${because}`;
      return warning(
        `${where} in ${region}: no droplet${example}`,
        "see vpc, dropletTag, region and the token's team",
      );
    },
    async clockAheadMs(signal) {
      answered ??= ask(signal);
      const { answer, at } = await answered;
      const date = Date.parse(answer.headers["date"] ?? "");
      if (Number.isNaN(date)) return undefined;
      const ahead = date - at;
      return ahead < 0 && ahead > -1_000 ? 0 : ahead;
    },
    close: () => client.close(),
  };
}

const WHAT = "GET /v2/droplets";
const RETRY = "run doctor again; see apiURL, the network, and DigitalOcean's own health";
const TOKEN = "see that the token is the right team's, has not expired, and has the scope droplet:read";

import * as z from "zod";
import type { Diagnosis } from "#clouds/diagnosis.ts";
import {
  DEFAULT_API_URL,
  type DigitalOceanCloudConfig,
  TOKEN_VARIABLE,
} from "#clouds/digitalocean/config.ts";
import { checkOwnership, Droplet, DropletsPage } from "#clouds/digitalocean/droplet.ts";
import { readError } from "#clouds/digitalocean/read-list.ts";
import { checkRegionSlug, REGIONS_PATH } from "#clouds/digitalocean/requests.ts";
import { createAuthorizer } from "#clouds/http/authorizer.ts";
import { buildUnansweredFault, classify } from "#clouds/http/classify.ts";
import { createHttpClient } from "#clouds/http/client.ts";
import { memoizeByKey } from "#clouds/http/memoize.ts";
import type { Outcome } from "#clouds/http/outcome.ts";
import type { Environment } from "#clouds/provider.ts";
import { type CheckResult, reportFailure, reportOk, reportWarning } from "#core/check-result.ts";

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

  /** Reads each path only once. */
  const readOnce = memoizeByKey(async (path: string, signal: AbortSignal) => {
    const headers = { accept: "application/json", authorization: await authorize() };
    const answer = await client.send({ method: "GET", path, headers }, signal);
    return { answer, at: Date.now() };
  });

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

/** The account of a token; a token without account:read cannot read it. */
const ACCOUNT_PATH = "/v2/account";

/** The answer with the account. */
export const Account = z.object({
  account: z.object({
    status: z.string(),
    status_message: z.string().optional().catch(undefined),
    droplet_limit: z.int().min(0).optional().catch(undefined),
    team: z.object({ name: z.string() }).optional().catch(undefined),
  }),
});

/** Maximum length of text from others that is repeated. */
const MAX_TEXT_LENGTH = 100;

/**
 * Reports the account of a token that may list droplets, and whether the account is active; `droplets` is the
 * number found.
 */
function checkAccount(body: unknown, droplets: number | undefined): CheckResult {
  const account = Account.safeParse(body).data?.account;
  if (account === undefined) return reportOk(`${MAY_LIST}; it may not read the account (account:read)`);
  const { status, status_message: statusMessage = "", droplet_limit: limit, team } = account;
  const context = team === undefined ? "its account" : `team ${truncate(team.name)}`;
  const summary = `${context} is ${truncate(status)}${statusMessage === "" ? "" : `: ${truncate(statusMessage)}`}`;
  if (status === "locked") return reportFailure(`${summary}; nothing can be created or changed`, SUPPORT);
  if (status !== "active") return reportWarning(`${MAY_LIST}; ${summary}`, SUPPORT);
  if (limit === undefined) return reportOk(`${MAY_LIST}; ${summary}`);
  if (droplets !== undefined && droplets >= limit)
    return reportWarning(
      `${context} has ${droplets} droplets of ${limit} allowed: no further node can be created`,
      "ask DigitalOcean for a higher droplet limit, or delete unused droplets",
    );
  return reportOk(`${MAY_LIST}; ${summary}, and may have ${limit} droplets`);
}

function truncate(text: string): string {
  return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
}

const MAY_LIST = "the token may list droplets";

const SUPPORT = "read DigitalOcean's messages to the account's owner, or ask its support";

/** A read that proves that the token has a scope, and the related scopes that only a change would prove. */
interface ScopedRead {
  readonly scope: string;
  readonly path: string;
  readonly unproven: readonly string[];
}

/** Reads a path; the fault of a missing answer is transient. */
type ReadPath = (path: string, signal: AbortSignal) => Promise<Outcome<unknown>>;

/**
 * Checks whether the token has the scopes of load balancers and of other configured parts, as far as reads
 * can prove.
 */
async function diagnoseScopes(
  config: DigitalOceanCloudConfig,
  readPath: ReadPath,
  signal: AbortSignal,
): Promise<CheckResult> {
  const reads = listScopedReads(config);
  const missing: string[] = [];
  for (const { scope, path } of reads) {
    const outcome = await readPath(`${path}?per_page=1`, signal);
    if (outcome.kind === "ok") continue;
    const { status, message } = outcome.fault;
    if (status !== 403) return reportFailure(message, RETRY_LATER);
    missing.push(scope);
  }
  const unproven = reads.flatMap((read) => read.unproven).join(", ");
  if (missing.length > 0)
    return reportFailure(
      `the token lacks ${missing.join(", ")}`,
      `give the token these scopes, and check that it has ${unproven} too, which reads cannot prove`,
    );
  const proven = reads.map(({ scope }) => scope).join(", ");
  return reportOk(`the token has ${proven}; reads cannot prove ${unproven}`);
}

function listScopedReads({
  clusterID,
  dropletTag,
  allow,
  publicAccessFirewall,
}: DigitalOceanCloudConfig): readonly ScopedRead[] {
  const isTagged = clusterID !== undefined;
  return [
    {
      scope: "load_balancer:read",
      path: "/v2/load_balancers",
      unproven: ["load_balancer:create", "load_balancer:update", "load_balancer:delete"],
    },
    ...(isTagged || dropletTag !== undefined
      ? [{ scope: "tag:read", path: "/v2/tags", unproven: isTagged ? ["tag:create", "tag:delete"] : [] }]
      : []),
    ...(allow.certificates.length > 0
      ? [{ scope: "certificate:read", path: "/v2/certificates", unproven: [] }]
      : []),
    ...(publicAccessFirewall === undefined
      ? []
      : [
          { scope: "firewall:read", path: "/v2/firewalls", unproven: ["firewall:create", "firewall:update"] },
        ]),
  ];
}

const RETRY_LATER = "run doctor again; see apiURL, the network, and DigitalOcean's own health";

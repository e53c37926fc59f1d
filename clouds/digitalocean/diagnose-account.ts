import * as z from "zod";
import { type CheckResult, reportFailure, reportOk, reportWarning } from "#core/check-result.ts";

/** The account of a token; a token without account:read cannot read it. */
export const ACCOUNT_PATH = "/v2/account";

const Account = z.object({
  account: z.object({
    status: z.string(),
    status_message: z.string().optional().catch(undefined),
    droplet_limit: z.int().min(0).optional().catch(undefined),
    team: z.object({ name: z.string() }).optional().catch(undefined),
  }),
});

/** Maximum length of text from others that is repeated. */
const MAX_WORDS = 100;

/**
 * Reports the account of a token that may list droplets, and whether the account is active; `droplets` is the
 * number found.
 */
export function checkAccount(body: unknown, droplets: number | undefined): CheckResult {
  const account = Account.safeParse(body).data?.account;
  if (account === undefined) return reportOk(`${MAY_LIST}; of its account nothing is shown (account:read)`);
  const { status, status_message: words = "", droplet_limit: limit, team } = account;
  const context = team === undefined ? "its account" : `team ${truncate(team.name)}`;
  const said = `${context} is ${truncate(status)}${words === "" ? "" : `: ${truncate(words)}`}`;
  if (status === "locked") return reportFailure(`${said}; nothing can be created or changed`, SUPPORT);
  if (status !== "active") return reportWarning(`${MAY_LIST}; ${said}`, SUPPORT);
  if (limit === undefined) return reportOk(`${MAY_LIST}; ${said}`);
  if (droplets !== undefined && droplets >= limit)
    return reportWarning(
      `${context} has ${droplets} droplets of ${limit} allowed: no further node can be created`,
      "ask DigitalOcean for a higher droplet limit, or delete unused droplets",
    );
  return reportOk(`${MAY_LIST}; ${said}, and may have ${limit} droplets`);
}

function truncate(words: string): string {
  return words.slice(0, MAX_WORDS).toWellFormed();
}

const MAY_LIST = "the token may list droplets";
const SUPPORT = "see what DigitalOcean has written to the account's owner, and its support";

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
const MAX_TEXT_LENGTH = 100;

/**
 * Reports the account of a token that may list droplets, and whether the account is active; `droplets` is the
 * number found.
 */
export function checkAccount(body: unknown, droplets: number | undefined): CheckResult {
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

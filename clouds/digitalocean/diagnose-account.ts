import * as z from "zod";
import { type Finding, failed, ok, warning } from "#core/finding.ts";

/** The account of a token; whoever has no account:read sees none. */
export const ACCOUNT_PATH = "/v2/account";

const Account = z.object({
  account: z.object({
    status: z.string(),
    status_message: z.string().optional().catch(undefined),
    droplet_limit: z.int().min(0).optional().catch(undefined),
    team: z.object({ name: z.string() }).optional().catch(undefined),
  }),
});

/** So much of what is somebody's own words is repeated. */
const MAX_WORDS = 100;

/** What is to be said of a token that may list droplets: whose it is, and whether that account may do anything; `droplets` are those that were counted. */
export function findingOnAccount(body: unknown, droplets: number | undefined): Finding {
  const account = Account.safeParse(body).data?.account;
  if (account === undefined) return ok(`${MAY_LIST}; of its account nothing is shown (account:read)`);
  const { status, status_message: words = "", droplet_limit: limit, team } = account;
  const whose = team === undefined ? "its account" : `team ${cut(team.name)}`;
  const said = `${whose} is ${cut(status)}${words === "" ? "" : `: ${cut(words)}`}`;
  if (status === "locked") return failed(`${said}; nothing can be made or changed`, SUPPORT);
  if (status !== "active") return warning(`${MAY_LIST}; ${said}`, SUPPORT);
  if (limit === undefined) return ok(`${MAY_LIST}; ${said}`);
  if (droplets !== undefined && droplets >= limit)
    return warning(
      `${whose} has ${droplets} droplets of ${limit} that it may have: there will be no other node`,
      "ask DigitalOcean for a higher droplet limit, or delete droplets that nobody needs",
    );
  return ok(`${MAY_LIST}; ${said}, and may have ${limit} droplets`);
}

function cut(words: string): string {
  return words.slice(0, MAX_WORDS).toWellFormed();
}

const MAY_LIST = "the token may list droplets";
const SUPPORT = "see what DigitalOcean has written to the account's owner, and its support";

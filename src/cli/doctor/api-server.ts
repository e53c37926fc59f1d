import * as z from "zod";
import type { Check, CheckContext, Signer } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { parseJson } from "#core/parse-json.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";

/** The oldest and the newest minor version of Kubernetes 1 on which all suites run. */
export const OLDEST_MINOR = 34;

export const NEWEST_MINOR = 37;

const Version = z.object({ major: z.string(), minor: z.string(), gitVersion: z.string() });

/** Checks whether the API server answers and whether its version is supported. */
export const apiServer: Check = {
  name: "api-server",
  async run({ reached, ask }, signal) {
    const { server } = reached.cluster;
    try {
      const answer = await ask("relay", { method: "GET", path: "/version", signal });
      const version = Version.safeParse(parseJson(answer.body)).data;
      if (answer.status === 200 && version !== undefined) return checkVersion(server, version);
      const said = classifyAnswer(answer);
      const words = "message" in said ? said.message : `${answer.status}: no version`;
      return reportFailure(`${server} answers, and not with its version: ${words}`, NOT_KUBERNETES);
    } catch (error) {
      if (error instanceof ApiUnreachable) return reportFailure(error.message, REACH_IT);
      throw error;
    }
  },
};

const REACH_IT =
  "see the cluster's server address and certificate authority, and the network between here and there";

const NOT_KUBERNETES = "see whether the address is the API server's, and whether the sign-in is for it";

function checkVersion(server: string, { major, minor, gitVersion }: z.output<typeof Version>) {
  const words = `${sanitizeText(gitVersion, 64)} at ${server}`;
  // Some distributions report 36+.
  const number = major === "1" ? Number.parseInt(minor, 10) : Number.NaN;
  if (number >= OLDEST_MINOR && number <= NEWEST_MINOR) return reportOk(words);
  const range = `1.${OLDEST_MINOR} to 1.${NEWEST_MINOR}`;
  if (number < OLDEST_MINOR)
    return reportWarning(`${words} is older than what is tested, ${range}`, "upgrade the API server");
  return reportWarning(
    `${words} is not among what is tested, ${range}`,
    "see whether there is a newer version of serverless-ccm",
  );
}

const Review = z.object({
  status: z.object({
    userInfo: z.object({ username: z.string(), groups: z.array(z.string()).prefault([]) }),
  }),
});

/** Creates the check which user the API server sees for an identity. */
export function createIdentityCheck({ name, role }: Signer): Check {
  return {
    name: nameOfIdentityCheck(name),
    needs: ["api-server"],
    async run({ ask }, signal) {
      const answer = await ask(role, {
        method: "POST",
        path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        signal,
      });
      const user = Review.safeParse(parseJson(answer.body)).data?.status.userInfo;
      if (answer.status === 201 && user !== undefined) return checkUser(user);
      const said = classifyAnswer(answer);
      if (said.kind === "unauthenticated") return reportFailure(said.message, RENEW);
      if (answer.status === 404) return reportSkipped("this API server does not tell who one is");
      return reportFailure("message" in said ? said.message : `${answer.status}: not who one is`, ALLOW);
    },
  };
}

/** Returns the check's name, for checks that depend on it. */
export function nameOfIdentityCheck(name: string): string {
  return `identity of ${name}`;
}

const RENEW = "renew what it signs in with, and see that it is meant for this API server";

const ALLOW =
  "let every authenticated user create selfsubjectreviews, as the ClusterRole system:basic-user does";

const ANONYMOUS = "system:anonymous";

const MASTERS = "system:masters";

function checkUser({ username, groups }: { readonly username: string; readonly groups: readonly string[] }) {
  const words = `signs in as ${sanitizeText(username, 128)}`;
  if (username === ANONYMOUS) return reportFailure(words, "give it a credential that the API server knows");
  if (!groups.includes(MASTERS)) return reportOk(words);
  return reportWarning(
    `${words}, of the group ${MASTERS}`,
    "use an identity of infra/rbac, which may do what it needs and no more",
  );
}

/** A tolerance, because headers have whole seconds and answers take time. */
const FEW_MS = 5_000;

/**
 * From this offset on, Leases and grace periods are misjudged; AWS rejects requests that are five minutes
 * off.
 */
const MANY_MS = 60_000;

/** Checks whether this machine, the API server and the cloud agree about the time. */
export const clock: Check = {
  name: "clock",
  async run(context, signal) {
    const [server, cloud] = await Promise.all([
      measureServerOffsetMs(context, signal).catch(() => undefined),
      measureCloudOffsetMs(context, signal).catch(() => undefined),
    ]);
    const known = [
      { whose: "the API server's", ms: server },
      { whose: "the cloud's", ms: cloud },
    ].filter((each): each is ClockOffset => each.ms !== undefined);
    if (known.length === 0) return reportSkipped("neither the API server nor the cloud reported the time");
    const words = known.map(formatOffset).join("; ");
    const apart = [0, ...known.map(({ ms }) => ms)];
    const most = Math.max(...apart) - Math.min(...apart);
    if (most > MANY_MS) return reportFailure(words, SYNCHRONIZE);
    return most > FEW_MS ? reportWarning(words, SYNCHRONIZE) : reportOk(words);
  },
};

const SYNCHRONIZE = "synchronize the clock that is off by NTP: this machine's, where both others agree";

interface ClockOffset {
  readonly whose: string;
  readonly ms: number;
}

function formatOffset({ whose, ms }: ClockOffset): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return `${whose} is this machine's`;
  return `${whose} is ${seconds} s ${ms > 0 ? "ahead of" : "behind"} this machine's`;
}

async function measureServerOffsetMs(
  { ask, now }: CheckContext,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { headers } = await ask("relay", { method: "GET", path: "/version", signal });
  const at = Date.parse(headers["date"] ?? "");
  return Number.isNaN(at) ? undefined : getOffsetMs(at, now().getTime());
}

/** A header has no fractions of a second. */
function getOffsetMs(at: number, now: number): number {
  const ahead = at - now;
  return ahead < 0 && ahead > -1_000 ? 0 : ahead;
}

async function measureCloudOffsetMs(
  { cloud }: CheckContext,
  signal: AbortSignal,
): Promise<number | undefined> {
  return (await cloud())?.clockAheadMs(signal);
}

import * as z from "zod";
import type { Check } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";
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

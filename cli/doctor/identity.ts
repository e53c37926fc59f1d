import * as z from "zod";
import type { Check, Signer } from "#cli/doctor/check.ts";
import { reportFailure, reportOk, reportSkipped, reportWarning } from "#core/check-result.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";

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

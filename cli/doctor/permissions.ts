import * as z from "zod";
import type { Check, CheckContext, Signer } from "#cli/doctor/check.ts";
import { nameOfIdentityCheck } from "#cli/doctor/identity.ts";
import { findWiderRights } from "#cli/doctor/wider-rights.ts";
import { formatList } from "#cli/format-list.ts";
import type { Cluster } from "#config/cluster.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import { RIGHTS, type Right, resolveRight } from "#core/rights.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";

/** Checks whether an identity has exactly the rights that the cluster's controllers need. */
export function createPermissionsCheck(signer: Signer): Check {
  return {
    name: `permissions of ${signer.name}`,
    needs: ["api-server", nameOfIdentityCheck(signer.name)],
    async run(context, signal) {
      const needed = listNeededRights(signer, context.reached.cluster);
      const allowed = await Promise.all(needed.map((right) => isAllowed(context, signer, right, signal)));
      const missing = needed.filter((_, index) => allowed[index] !== true);
      if (missing.length > 0)
        return reportFailure(`may not ${formatList(missing.map(formatRight), MAX_NAMED)}`, GRANT);
      const wider = await findWiderRights(needed, context, signer, signal);
      const words = `may do the ${needed.length} things that it needs`;
      if (wider.length === 0) return reportOk(`${words}, and nothing else`);
      return reportWarning(`${words}, and more: ${formatList(wider, MAX_NAMED)}`, NARROW);
    },
  };
}

const GRANT =
  "kubectl apply -f infra/rbac/ (and infra/rbac/csr-approver/, infra/rbac/service-lb-controller/, infra/rbac/node-route-controller/, infra/rbac/tagging/ with these controllers, infra/rbac/keepalived/ or infra/rbac/kubevip/ with these clouds, infra/rbac/writes-relay/ with writes: relay); see whether the bindings name this user";
const NARROW = "bind nothing but the roles of infra/rbac to it, and those of controllers that are on";

/** Lists the rights that the identities of one sign-in need for these controllers, each once. */
export function listNeededRights(
  { identities }: Signer,
  { cloud, controllers, writes: writer }: Pick<Cluster, "cloud" | "controllers" | "writes">,
): readonly Right[] {
  const needed = identities
    .flatMap((identity) => RIGHTS[identity])
    .filter(({ controller }) => controller === undefined || controllers.includes(controller))
    .filter(({ writes }) => writes === undefined || writes === writer)
    .filter((right) => right.cloud === undefined || right.cloud === cloud.provider)
    .map((right) => resolveRight(right, cloud));
  return [...new Map(needed.map((right) => [formatRight(right), right])).values()];
}

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Returns whether an identity has a right; rejects if that cannot be checked. */
export async function isAllowed(
  { ask }: Pick<CheckContext, "ask">,
  { role }: Pick<Signer, "role">,
  { verb, group, resource, subresource, namespace, name }: Right,
  signal: AbortSignal,
): Promise<boolean> {
  const resourceAttributes = { verb, group, resource, subresource, namespace, name };
  const answer = await ask(role, {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    },
    signal,
  });
  const review = Review.safeParse(parseJson(answer.body)).data;
  if (answer.status === 201 && review !== undefined) return review.status.allowed;
  const said = classifyAnswer(answer);
  throw new Error(`its rights cannot be checked: ${"message" in said ? said.message : answer.status}`);
}

/** Formats a right for people. */
export function formatRight({ verb, group, resource, subresource, namespace, name }: Right): string {
  const what = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  const which = name === undefined ? "" : ` ${name}`;
  return `${verb} ${what}${which}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

const MAX_NAMED = 8;

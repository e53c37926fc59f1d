import * as z from "zod";
import type { Check, CheckContext, Signer } from "#cli/doctor/check.ts";
import { nameOfIdentityCheck } from "#cli/doctor/identity.ts";
import { widerThan } from "#cli/doctor/wider-rights.ts";
import { someOf } from "#cli/some-of.ts";
import type { Cluster } from "#config/cluster.ts";
import { failed, ok, warning } from "#core/finding.ts";
import { inCluster, RIGHTS, type Right } from "#core/rights.ts";
import { classifyAnswer, parseJson } from "#kube/client/answer.ts";

/** Whether somebody of ours may do exactly what the controllers of the cluster need of it. */
export function permissionsOf(signer: Signer): Check {
  return {
    name: `permissions of ${signer.name}`,
    needs: ["api-server", nameOfIdentityCheck(signer.name)],
    async run(context, signal) {
      const needed = neededBy(signer, context.reached.cluster);
      const allowed = await Promise.all(needed.map((right) => isAllowed(context, signer, right, signal)));
      const missing = needed.filter((_, index) => allowed[index] !== true);
      if (missing.length > 0) return failed(`may not ${someOf(missing.map(wordsOf), MAX_NAMED)}`, GRANT);
      const wider = await widerThan(needed, context, signer, signal);
      const words = `may do the ${needed.length} things that it needs`;
      if (wider.length === 0) return ok(`${words}, and nothing else`);
      return warning(`${words}, and more: ${someOf(wider, MAX_NAMED)}`, NARROW);
    },
  };
}

const GRANT =
  "kubectl apply -f infra/rbac/ (and infra/rbac/csr-approver/, infra/rbac/service-lb-controller/, infra/rbac/node-route-controller/, infra/rbac/tagging/ with these controllers, infra/rbac/keepalived/ or infra/rbac/kubevip/ with these clouds, infra/rbac/writes-relay/ with writes: relay); see whether the bindings name this user";
const NARROW = "bind nothing but the roles of infra/rbac to it, and those of controllers that are on";

/** What the identities that sign in so need for these controllers, each once. */
export function neededBy(
  { identities }: Signer,
  { cloud, controllers, writes: writer }: Pick<Cluster, "cloud" | "controllers" | "writes">,
): readonly Right[] {
  const needed = identities
    .flatMap((identity) => RIGHTS[identity])
    .filter(({ controller }) => controller === undefined || controllers.includes(controller))
    .filter(({ writes }) => writes === undefined || writes === writer)
    .filter((right) => right.cloud === undefined || right.cloud === cloud.provider)
    .map((right) => inCluster(right, cloud));
  return [...new Map(needed.map((right) => [wordsOf(right), right])).values()];
}

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Whether somebody of ours has a right; rejects where that cannot be asked. */
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
  throw new Error(`what it may do cannot be asked: ${"message" in said ? said.message : answer.status}`);
}

/** A right as people write it. */
export function wordsOf({ verb, group, resource, subresource, namespace, name }: Right): string {
  const what = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  const which = name === undefined ? "" : ` ${name}`;
  return `${verb} ${what}${which}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

const MAX_NAMED = 8;

import * as z from "zod";
import { nameOfIdentityCheck } from "#cli/doctor/api-server.ts";
import type { Check, CheckContext, Signer } from "#cli/doctor/check.ts";
import { formatList } from "#cli/format-list.ts";
import type { Cluster } from "#config/cluster.ts";
import { reportFailure, reportOk, reportWarning } from "#core/check-result.ts";
import type { Right } from "#core/descriptor.ts";
import { OPTIONAL_CONTROLLERS } from "#core/descriptors.ts";
import { AnnouncementSource } from "#core/node/settings.ts";
import { parseJson } from "#core/parse-json.ts";
import { CLOUDS_IN_CLUSTERS, RIGHTS, resolveRight } from "#core/rights.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { classifyAnswer } from "#kube/client/answer.ts";

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

const GRANT = `kubectl apply -f infra/rbac/ (and ${listFolders(OPTIONAL_CONTROLLERS).join(", ")} with these controllers, ${listFolders(CLOUDS_IN_CLUSTERS).join(" or ")} with these clouds, ${listFolders(AnnouncementSource.options).join(", ")} with these sources of nodes.lookAhead, infra/rbac/writes-relay/ with writes: relay); see whether the bindings name this user`;

function listFolders(names: readonly string[]): readonly string[] {
  return names.map((name) => `infra/rbac/${name}/`);
}

const NARROW = "bind nothing but the roles of infra/rbac to it, and those of controllers that are on";

/** Lists the rights that the identities of one sign-in need for these controllers, each once. */
export function listNeededRights(
  { identities }: Signer,
  { cloud, controllers, nodes, writes: writer }: Pick<Cluster, "cloud" | "controllers" | "nodes" | "writes">,
): readonly Right[] {
  const needed = identities
    .flatMap((identity) => RIGHTS[identity])
    .filter(({ controller }) => controller === undefined || controllers.includes(controller))
    .filter(({ lookAhead }) => lookAhead === undefined || nodes.lookAhead.some((each) => each === lookAhead))
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

const Rule = z.object({
  verbs: z.array(z.string()),
  apiGroups: z.array(z.string()).prefault([]),
  resources: z.array(z.string()).prefault([]),
  resourceNames: z.array(z.string()).optional(),
});

const RulesReview = z.object({ status: z.object({ resourceRules: z.array(Rule) }) });

/** The API groups in which every signed-in user has rights, to read its own identity and rights. */
const EVERYBODYS = ["authentication.k8s.io", "authorization.k8s.io"];

/** The namespaces of our rights; bindings in other namespaces are not seen. */
const NAMESPACES = ["default", "kube-system"];

/**
 * Returns what an identity may do beyond these rights, as safe text; nothing if the API server does not
 * report it.
 */
async function findWiderRights(
  needed: readonly Right[],
  { ask }: CheckContext,
  { role }: Signer,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const wider = await Promise.all(
    NAMESPACES.map(async (namespace) => {
      const { body } = await ask(role, {
        method: "POST",
        path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SelfSubjectRulesReview",
          spec: { namespace },
        },
        signal,
      });
      const rules = RulesReview.safeParse(parseJson(body)).data?.status.resourceRules ?? [];
      return rules.flatMap((rule) => listExcessRights(rule, needed, namespace));
    }),
  );
  return [...new Set(wider.flat())];
}

function listExcessRights(
  { verbs, apiGroups, resources, resourceNames }: z.output<typeof Rule>,
  needed: readonly Right[],
  namespace: string,
): string[] {
  const names: readonly (string | undefined)[] = resourceNames ?? [undefined];
  return apiGroups
    .filter((group) => !EVERYBODYS.includes(group))
    .flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          names
            .filter(
              (name) => !needed.some((right) => isCovered(right, { verb, group, resource, name, namespace })),
            )
            .map((name) => formatReviewedRight(verb, group, resource, name)),
        ),
      ),
    );
}

interface GrantedRight {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string | undefined;
  readonly namespace: string;
}

/** A rule for all namespaces appears in both of these, and does not match a right in one of them. */
function isCovered(right: Right, granted: GrantedRight): boolean {
  const resource =
    right.subresource === undefined ? right.resource : `${right.resource}/${right.subresource}`;
  return (
    right.verb === granted.verb &&
    right.group === granted.group &&
    resource === granted.resource &&
    (right.name === undefined || right.name === granted.name) &&
    (right.namespace === undefined || right.namespace === granted.namespace)
  );
}

const MAX_CHARACTERS = 120;

function formatReviewedRight(
  verb: string,
  group: string,
  resource: string,
  name: string | undefined,
): string {
  const what = `${verb} ${resource}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` ${name}`}`;
  return sanitizeText(what, MAX_CHARACTERS);
}

import * as z from "zod";
import type { CheckContext, Signer } from "#cli/doctor/check.ts";
import type { Right } from "#core/rights.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { parseJson } from "#kube/client/answer.ts";

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
export async function findWiderRights(
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

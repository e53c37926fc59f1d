import * as z from "zod";
import type { CheckContext, Signer } from "#cli/doctor/check.ts";
import type { Right } from "#core/rights.ts";
import { shown } from "#core/shown-text.ts";
import { parseJson } from "#kube/client/answer.ts";

const Rule = z.object({
  verbs: z.array(z.string()),
  apiGroups: z.array(z.string()).prefault([]),
  resources: z.array(z.string()).prefault([]),
  resourceNames: z.array(z.string()).optional(),
});

const Review = z.object({ status: z.object({ resourceRules: z.array(Rule) }) });

/** What everybody may do who has signed in: find out who and what one is. */
const EVERYBODYS = ["authentication.k8s.io", "authorization.k8s.io"];

/** Those in which rights of ours are; what is bound in other namespaces alone is not seen. */
const NAMESPACES = ["default", "kube-system"];

/** What somebody of ours may do beyond these rights, in words that are fit to be shown; nothing where the API server does not say. */
export async function widerThan(
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
      const rules = Review.safeParse(parseJson(body)).data?.status.resourceRules ?? [];
      return rules.flatMap((rule) => beyond(rule, needed, namespace));
    }),
  );
  return [...new Set(wider.flat())];
}

function beyond(
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
              (name) => !needed.some((right) => covers(right, { verb, group, resource, name, namespace })),
            )
            .map((name) => wordsOf(verb, group, resource, name)),
        ),
      ),
    );
}

interface Granted {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string | undefined;
  readonly namespace: string;
}

/** What a rule grants everywhere shows in both namespaces, and in the other one is not covered. */
function covers(right: Right, granted: Granted): boolean {
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

function wordsOf(verb: string, group: string, resource: string, name: string | undefined): string {
  const what = `${verb} ${resource}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` ${name}`}`;
  return shown(what, MAX_CHARACTERS);
}

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import * as z from "zod";

/** One verb on one resource, such as `patch` on `nodes/status`. */
export interface Right {
  readonly verb: string;
  readonly resource: string;
}

const Manifest = z.looseObject({ kind: z.string() });

const ClusterRole = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  rules: z.array(
    z.strictObject({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  ),
});
export type ClusterRole = z.output<typeof ClusterRole>;

/** The one role of a manifest of infra/rbac. */
export async function readRole(
  file: `${"" | "csr-approver/"}${"relay" | "functions"}.yaml`,
): Promise<ClusterRole> {
  const path = fileURLToPath(new URL(`../../infra/rbac/${file}`, import.meta.url));
  const documents = parseAllDocuments(await readFile(path, "utf8")).map((each) =>
    Manifest.parse(each.toJS()),
  );
  const [role, ...others] = documents.filter(({ kind }) => kind === "ClusterRole");
  if (role === undefined || others.length > 0) throw new Error(`${path} is to have one ClusterRole`);
  return ClusterRole.parse(role);
}

/** Everything that a role allows, one by one. */
export function rightsOf({ rules }: ClusterRole): readonly Right[] {
  return rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, resource }))),
  );
}

/** The role without one of its rights. */
export function roleWithout(role: ClusterRole, right: Right): ClusterRole {
  const rules = role.rules.flatMap((rule) =>
    rule.resources.map((resource) => ({
      ...rule,
      resources: [resource],
      verbs: rule.verbs.filter((verb) => verb !== right.verb || resource !== right.resource),
    })),
  );
  return { ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) };
}

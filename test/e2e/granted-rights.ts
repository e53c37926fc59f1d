import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import type { Right } from "#core/descriptor.ts";
import { formatObjectPath } from "#core/resources/resource.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ClusterUnderTest } from "#test/kube/apply/cluster-under-test.ts";

const Manifest = z.looseObject({ kind: z.string() });

/** A role of a manifest: of the whole cluster, or of a namespace. */
export const Role = z.looseObject({
  kind: z.enum(["ClusterRole", "Role"]),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  rules: z.array(
    z.strictObject({
      apiGroups: z.array(z.string()),
      resources: z.array(z.string()),
      resourceNames: z.array(z.string()).optional(),
      verbs: z.array(z.string()),
    }),
  ),
});
export type Role = z.output<typeof Role>;

/** Reads the documents of a manifest of infra/rbac, such as `csr-approver/csr.yaml`. */
export async function readManifests(file: string): Promise<readonly unknown[]> {
  const path = fileURLToPath(new URL(`../../infra/rbac/${file}`, import.meta.url));
  return parseAllDocuments(await readFile(path, "utf8")).map((each) => each.toJS());
}

/** Reads the roles of manifests of infra/rbac. */
export async function readRoles(...files: readonly string[]): Promise<readonly Role[]> {
  const documents = (await Promise.all(files.map(readManifests))).flat();
  return documents
    .filter((document) => Manifest.parse(document).kind.endsWith("Role"))
    .map((document) => Role.parse(document));
}

/** Returns everything that roles allow, one right each. */
export function listRights(roles: readonly Role[]): readonly Right[] {
  return roles.flatMap(({ metadata: { namespace }, rules }) =>
    rules.flatMap(({ apiGroups, resources, resourceNames = [undefined], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((target) =>
          resourceNames.flatMap((name) =>
            verbs.map((verb) => {
              const [resource = "", subresource] = target.split("/");
              return {
                verb,
                group,
                resource,
                ...(subresource === undefined ? {} : { subresource }),
                ...(namespace === undefined ? {} : { namespace }),
                ...(name === undefined ? {} : { name }),
              };
            }),
          ),
        ),
      ),
    ),
  );
}

/** Returns a right in the words of rows and counts, such as `patch nodes/status`. */
export function describeRight({ verb, resource, subresource }: Right): string {
  return `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
}

/** Returns the roles without one of their rights. */
export function removeRight(roles: readonly Role[], right: string): readonly Role[] {
  return roles.map((role) => {
    const rules = role.rules.flatMap((rule) =>
      rule.resources.map((resource) => ({
        ...rule,
        resources: [resource],
        verbs: rule.verbs.filter((verb) => `${verb} ${resource}` !== right),
      })),
    );
    return { ...role, rules: rules.filter(({ verbs }) => verbs.length > 0) };
  });
}

/**
 * Replaces roles of a user, and waits until the API server applies them; `all` are those of the manifests.
 */
export async function grant(
  cluster: ClusterUnderTest,
  user: keyof ControlPlaneUsers,
  roles: readonly Role[],
  all: readonly Role[],
): Promise<void> {
  const admin = await cluster.transport("admin");
  for (const role of roles) {
    const { kind, metadata, rules } = role;
    const resource = { apiVersion: "rbac.authorization.k8s.io/v1", name: `${kind.toLowerCase()}s` };
    const path = formatObjectPath(resource, metadata);
    const contentType = "application/merge-patch+json";
    const answer = await admin.send({ method: "PATCH", path, contentType, body: { rules } });
    expect(answer.status).toBe(200);
  }
  const granted = listRights(roles).map(describeRight);
  const transport = await cluster.transport(user);
  await vi.waitFor(
    async () => {
      for (const right of listRights(all))
        expect([describeRight(right), await isAllowed(transport, right)]).toEqual([
          describeRight(right),
          granted.includes(describeRight(right)),
        ]);
    },
    { timeout: 30_000, interval: 50 },
  );
}

/** Returns whether the API server grants the right to the user. */
export async function isAllowed(transport: Transport, right: Right): Promise<boolean> {
  const { controller: _, ...resourceAttributes } = right;
  const answer = await transport.send({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    },
  });
  return JSON.parse(answer.body).status.allowed;
}

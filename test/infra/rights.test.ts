import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { IDENTITIES, type Identity, userOf } from "#core/identities.ts";
import { RIGHTS, type Right } from "#core/rights.ts";
import { readManifests, readRoles, rightsOf } from "#test/e2e/granted-rights.ts";

const RBAC = fileURLToPath(new URL("../../infra/rbac/", import.meta.url));
const FOLDERS = ["", "csr-approver/"];

const Binding = z.looseObject({
  kind: z.enum(["ClusterRoleBinding", "RoleBinding"]),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.looseObject({ kind: z.string(), name: z.string() })),
});

/** The files about an identity: its own, and what it has beside for the csr-approver. */
async function filesOf(identity: Identity): Promise<string[]> {
  const listed = await Promise.all(
    FOLDERS.map(async (folder) => (await readdir(RBAC + folder)).map((file) => folder + file)),
  );
  return listed.flat().filter((file) => file.endsWith(`/${identity}.yaml`) || file === `${identity}.yaml`);
}

function written(rights: readonly Right[]): string[] {
  return rights
    .map(({ verb, group, resource, subresource, namespace, name }) =>
      [group, resource, subresource, namespace, name, verb].join(" "),
    )
    .sort();
}

describe.each(IDENTITIES)("infra/rbac about %s", (identity) => {
  test("grants exactly the rights that it needs, and those of the csr-approver apart", async () => {
    const files = await filesOf(identity);
    const granted = async (inFolder: boolean) =>
      written(rightsOf(await readRoles(...files.filter((file) => file.includes("/") === inFolder))));
    const needed = (isApprovers: boolean) =>
      written(RIGHTS[identity].filter(({ controller }) => (controller !== undefined) === isApprovers));
    expect(await granted(false)).toEqual(needed(false));
    expect(await granted(true)).toEqual(needed(true));
  });

  test("binds every role of it to its user, and to nobody else", async () => {
    const files = await filesOf(identity);
    const documents = (await Promise.all(files.map(readManifests))).flat();
    const bindings = documents.flatMap((document) => Binding.safeParse(document).data ?? []);
    const bound = bindings.map(({ metadata: { namespace }, roleRef, subjects }) => ({
      role: [roleRef.kind, namespace, roleRef.name],
      users: subjects.map(({ kind, name }) => `${kind} ${name}`),
    }));
    const roles = await readRoles(...files);
    expect(bound).toEqual(
      roles.map(({ kind, metadata: { namespace, name } }) => ({
        role: [kind, namespace, name],
        users: [`User ${userOf(identity)}`],
      })),
    );
  });
});

test("nothing is granted to anybody else", async () => {
  const known = (await Promise.all(IDENTITIES.map(filesOf))).flat();
  const listed = await Promise.all(
    FOLDERS.map(async (folder) => (await readdir(RBAC + folder)).map((file) => folder + file)),
  );
  const others = listed.flat().filter((file) => file.endsWith(".yaml") && !known.includes(file));
  expect(others.sort()).toEqual(["flow-schema.yaml"]);
});

test("the page about the roles has the rights of each", async () => {
  const page = await readFile(`${RBAC}README.md`, "utf8");
  const rows = [...page.matchAll(/^\| `(serverless-ccm-[a-z0-9-]+)` +\| (\[.*?) +\| (.*?) +\|$/gm)];
  const listed = rows.map(([, user, files, rights]) => ({ user, files, rights }));
  const expected = (approvers: boolean) =>
    IDENTITIES.flatMap((identity) => {
      const rights = RIGHTS[identity].filter(({ controller }) => (controller !== undefined) === approvers);
      const file = `${approvers ? "csr-approver/" : ""}${identity}.yaml`;
      if (rights.length === 0) return [];
      return [{ user: userOf(identity), files: `[${file}](${file})`, rights: inWords(rights) }];
    });
  expect(listed).toEqual([...expected(false), ...expected(true)]);
});

/** As in `nodes`: get, patch; `configmaps` of `kube-system/serverless-ccm`: get, update. */
function inWords(rights: readonly Right[]): string {
  const targets = Map.groupBy(rights, ({ resource, subresource, namespace, name }) => {
    const what = `\`${subresource === undefined ? resource : `${resource}/${subresource}`}\``;
    const object = [namespace, name].filter((part) => part !== undefined).join("/");
    return object === "" ? what : `${what} ${name === undefined ? "in" : "of"} \`${object}\``;
  });
  return [...targets].map(([target, of]) => `${target}: ${of.map(({ verb }) => verb).join(", ")}`).join("; ");
}

import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Right } from "#core/descriptor.ts";
import { OPTIONAL_CONTROLLERS } from "#core/descriptors.ts";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { AnnouncementSource } from "#core/node/settings.ts";
import { CLOUDS_IN_CLUSTERS, RIGHTS } from "#core/rights.ts";
import { listRights, readManifests, readRoles } from "#test/e2e/granted-rights.ts";
import { formatRights } from "#test/infra/format-rights.ts";

const RBAC = fileURLToPath(new URL("../../infra/rbac/", import.meta.url));
/** Each controller that is off by default has a folder. */
const OF = [
  undefined,
  ...OPTIONAL_CONTROLLERS,
  ...CLOUDS_IN_CLUSTERS,
  ...AnnouncementSource.options,
  "writes-relay",
] as const;
const FOLDERS = OF.map((of) => (of === undefined ? "" : `${of}/`));

/** Returns the folder that grants it; undefined for rights that are always needed. */
function folderOf({ controller, cloud, lookAhead, writes }: Right): (typeof OF)[number] {
  return writes === "relay" ? "writes-relay" : (lookAhead ?? cloud ?? controller);
}

const Binding = z.looseObject({
  kind: z.enum(["ClusterRoleBinding", "RoleBinding"]),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  roleRef: z.looseObject({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.looseObject({ kind: z.string(), name: z.string() })),
});

/** Returns an identity's files: its own, and those for controllers that are off by default. */
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

describe.each(IDENTITIES)("infra/rbac for %s", (identity) => {
  test.each(OF)("grants exactly the rights that it needs for %s", async (of) => {
    const isOf = (file: string): boolean => (file.includes("/") ? file.split("/")[0] : undefined) === of;
    const files = (await filesOf(identity)).filter(isOf);
    const needed = RIGHTS[identity].filter((right) => folderOf(right) === of);
    expect(written(listRights(await readRoles(...files)))).toEqual(written(needed));
  });

  test("binds each of its roles only to its user", async () => {
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
        users: [`User ${formatUser(identity)}`],
      })),
    );
  });
});

test("no other user gets rights", async () => {
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
  const expected = (of: (typeof OF)[number]) =>
    IDENTITIES.flatMap((identity) => {
      const rights = RIGHTS[identity].filter((right) => folderOf(right) === of);
      const file = `${of === undefined ? "" : `${of}/`}${identity}.yaml`;
      if (rights.length === 0) return [];
      return [{ user: formatUser(identity), files: `[${file}](${file})`, rights: formatRights(rights) }];
    });
  expect(listed, "add these rows to infra/rbac/README.md, in this order").toEqual(OF.flatMap(expected));
});

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { formatUser, IDENTITIES } from "#core/identities.ts";
import { CLOUDS_IN_CLUSTERS } from "#core/rights.ts";
import { ROOT } from "./bundle.ts";
import {
  formatAccount,
  formatFlowSubjects,
  formatUsernames,
  formatWrites,
} from "./manifests/identity-lists.ts";
import { formatAccountBindings, formatFile, formatRoles, listGrants } from "./manifests/roles.ts";

/** A manifest of infra/ that follows from the identities and their rights, as a whole or in its lists. */
export interface Manifest {
  readonly file: string;
  /** Returns the text that the file must have; what is written by hand is as in its text of now. */
  build(current: string): string;
}

/** Every such manifest. */
export const MANIFESTS: readonly Manifest[] = [
  ...listGrants().map((grant) => ({
    file: `infra/rbac/${formatFile(grant)}`,
    build: (current: string) =>
      joinDocuments(current || `# The rights of ${formatUser(grant.identity)}.\n`, formatRoles(grant)),
  })),
  {
    file: "infra/rbac/service-accounts/service-accounts.yaml",
    build: (current) => joinDocuments(current, [...IDENTITIES.map(formatAccount), ...listAccountBindings()]),
  },
  {
    file: "infra/rbac/flow-schema.yaml",
    build: (current) =>
      replaceLines(current, "    - subjects:", "      resourceRules:", formatFlowSubjects()),
  },
  ...[undefined, ...CLOUDS_IN_CLUSTERS].map((cloud) => ({
    file: `infra/admission/${cloud === undefined ? "" : `${cloud}/`}identities.yaml`,
    build: (current: string) =>
      replaceLines(
        replaceLines(current, "        request.userInfo.username in [", "        ]", formatUsernames()),
        "    - name: mayWrite\n      expression: >-\n        {",
        "        }",
        formatWrites(cloud),
      ),
  })),
];

/** Writes every manifest that differs. */
export async function writeManifests(): Promise<void> {
  for (const { file, build } of MANIFESTS) {
    const path = join(ROOT, file);
    const current = await readFile(path, "utf8").catch(() => "");
    const text = build(current);
    if (text === current) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    process.stdout.write(`${file}\n`);
  }
}

/** Returns the bindings in the order of the manifests that they belong to, a cloud's behind its controller's. */
function listAccountBindings(): readonly string[] {
  const getPlace = ({ identity, folder, rights: [first] }: ReturnType<typeof listGrants>[number]): string =>
    `${formatFile({ identity, folder: first?.cloud === undefined ? folder : (first.controller ?? "") })} ${first?.cloud ?? ""}`;
  return listGrants()
    .filter(({ rights }) => rights.every(({ writes }) => writes === undefined))
    .toSorted((one, other) => (getPlace(one) < getPlace(other) ? -1 : 1))
    .flatMap(formatAccountBindings);
}

/** The end of the comment at the head of a file that has nothing else that is written by hand. */
const MARK = "# `npm run manifests` writes all that follows, from src/core/rights.ts.\n";

/** Returns the documents below the comment at the head of the current text. */
function joinDocuments(current: string, documents: readonly string[]): string {
  const [head = ""] = /^(?:#.*\n)*/.exec(current) ?? [];
  return `${head.replace(MARK, "")}${MARK}${documents.join("---\n")}`;
}

/** Replaces what is between two lines. */
function replaceLines(text: string, first: string, last: string, lines: string): string {
  const start = text.indexOf(`${first}\n`) + first.length + 1;
  const end = text.indexOf(`${last}\n`, start);
  if (start <= first.length || end < 0) throw new Error(`no lines between "${first}" and "${last}"`);
  return `${text.slice(0, start)}${lines}${text.slice(end)}`;
}

if (import.meta.main) await writeManifests();

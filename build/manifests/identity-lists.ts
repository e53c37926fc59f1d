import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { Right } from "#core/descriptor.ts";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { RIGHTS } from "#core/rights.ts";

/** Returns the subjects of a flow schema: each identity's user, and its ServiceAccount. */
export function formatFlowSubjects(): string {
  const users = IDENTITIES.map(
    (identity) => `        - kind: User
          user:
            name: ${formatUser(identity)}
`,
  );
  const accounts = IDENTITIES.map(
    (identity) => `        - kind: ServiceAccount
          serviceAccount:
            name: ${formatUser(identity)}
            namespace: ${SYSTEM_NAMESPACE}
`,
  );
  return [...users, ...accounts].join("");
}

/** Returns an identity's ServiceAccount. */
export function formatAccount(identity: Identity): string {
  return `apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${formatUser(identity)}
  namespace: ${SYSTEM_NAMESPACE}
  labels:
    app.kubernetes.io/name: serverless-ccm
automountServiceAccountToken: false
`;
}

/** Returns the names of all identities in an admission request, as the lines of a list. */
export function formatUsernames(): string {
  return joinLines(
    IDENTITIES.map(formatUser).map(
      (user) => `          '${user}', 'system:serviceaccount:${SYSTEM_NAMESPACE}:${user}'`,
    ),
  );
}

/** Returns what each identity may write on clusters with this cloud, as the lines of a map. */
export function formatWrites(cloud?: string): string {
  return joinLines(
    IDENTITIES.map((identity) => {
      const writes = listWrites(
        RIGHTS[identity].filter((right) => right.cloud === undefined || right.cloud === cloud),
      );
      return `          '${formatUser(identity)}': [${writes.map((write) => `'${write}'`).join(", ")}]`;
    }),
  );
}

/** The operations of admission requests, by the verb of the right; other verbs write nothing. */
const OPERATIONS: Readonly<Record<string, string>> = {
  create: "CREATE",
  update: "UPDATE",
  patch: "UPDATE",
  delete: "DELETE",
};

/** Returns the writes by resource, each before those of its subresources. */
function listWrites(rights: readonly Right[]): readonly string[] {
  const writes = rights.flatMap(({ verb, resource, subresource = "" }) => {
    const operation = OPERATIONS[verb];
    return operation === undefined ? [] : { operation, resource, subresource };
  });
  const byResource = Map.groupBy(writes, ({ resource }) => resource);
  const texts = [...byResource.values()].flatMap((of) =>
    of
      .toSorted((one, other) => Number(one.subresource !== "") - Number(other.subresource !== ""))
      .map(
        ({ operation, resource, subresource }) =>
          `${operation} ${subresource === "" ? resource : `${resource}/${subresource}`}`,
      ),
  );
  return [...new Set(texts)];
}

function joinLines(lines: readonly string[]): string {
  return `${lines.join(",\n")}\n`;
}

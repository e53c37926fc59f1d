import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import type { Right } from "#core/descriptor.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { formatUser, IDENTITIES, type Identity } from "#core/identities.ts";
import { RIGHTS } from "#core/rights.ts";

/** The rights of one identity that are granted together, by one file of infra/rbac. */
export interface Grant {
  readonly identity: Identity;
  /** The folder in infra/rbac; empty for rights that every cluster needs. */
  readonly folder: string;
  /** The name of its roles: one for the cluster, and one for each namespace. */
  readonly role: string;
  readonly rights: readonly Right[];
}

/** Returns every grant, by identity. */
export function listGrants(): readonly Grant[] {
  return IDENTITIES.flatMap((identity) =>
    [...Map.groupBy(RIGHTS[identity], getFolder)].map(([folder, rights]) => ({
      ...{ identity, folder, rights },
      role: formatRole(identity, folder, rights[0]),
    })),
  );
}

/** Returns the file of a grant in infra/rbac. */
export function formatFile({ identity, folder }: Pick<Grant, "identity" | "folder">): string {
  return `${folder === "" ? "" : `${folder}/`}${identity}.yaml`;
}

/** Each controller that is off by default, cloud that keeps its state in the cluster, and source has a folder. */
function getFolder({ controller, cloud, lookAhead, writes }: Right): string {
  return writes === "relay" ? "writes-relay" : (lookAhead ?? cloud ?? controller ?? "");
}

function formatRole(identity: Identity, folder: string, right: Right | undefined): string {
  if (right?.writes === "relay") return `${formatUser(identity)}-writes`;
  if (right?.cloud !== undefined) return `serverless-ccm-${right.cloud}`;
  const isOfController = DESCRIPTORS.some(({ functionName }) => functionName === identity);
  return folder === "" || isOfController ? formatUser(identity) : `serverless-ccm-${folder}-${identity}`;
}

/** Returns the manifests of a grant: its roles, each with the binding to the identity's user. */
export function formatRoles({ identity, folder, role, rights }: Grant): readonly string[] {
  const whose = identity === "relay" || identity === "sweep" ? `the ${identity}` : "this function";
  const readme = folder === "" ? "README.md" : "../README.md";
  const note = `# The subject is the user that the sign-in of ${whose} comes to; see ${readme} for others.\n`;
  return groupByNamespace(rights).flatMap(([namespace, of], index) => [
    `${namespace === "default" ? "# Events on objects without a namespace are in this one.\n" : ""}${formatRoleOf(role, namespace, of)}`,
    `${index === 0 ? note : ""}${formatBinding({
      ...{ name: role, role, namespace },
      subject: `  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: ${formatUser(identity)}\n`,
    })}`,
  ]);
}

/** Returns the bindings of a grant's roles to the identity's ServiceAccount. */
export function formatAccountBindings({ identity, role, rights }: Grant): readonly string[] {
  return groupByNamespace(rights).map(([namespace]) =>
    formatBinding({
      ...{ name: `${role}-service-account`, role, namespace },
      subject: `  - kind: ServiceAccount\n    name: ${formatUser(identity)}\n    namespace: ${SYSTEM_NAMESPACE}\n`,
    }),
  );
}

/** Returns the rights of the cluster's role, and of the role in each namespace. */
function groupByNamespace(rights: readonly Right[]): readonly [string | undefined, readonly Right[]][] {
  return [...Map.groupBy(rights, ({ namespace }) => namespace)];
}

function formatRoleOf(name: string, namespace: string | undefined, rights: readonly Right[]): string {
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  return `${formatHead(kind, name, namespace)}rules:\n${mergeRules(rights).map(formatRule).join("")}`;
}

/** Returns the first lines of an object of RBAC. */
function formatHead(kind: string, name: string, namespace: string | undefined): string {
  return [
    "apiVersion: rbac.authorization.k8s.io/v1",
    `kind: ${kind}`,
    "metadata:",
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    "  labels:",
    "    app.kubernetes.io/name: serverless-ccm",
    "",
  ].join("\n");
}

function formatBinding(binding: {
  readonly name: string;
  readonly role: string;
  readonly namespace: string | undefined;
  readonly subject: string;
}): string {
  const { name, role, namespace, subject } = binding;
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const reference = `  apiGroup: rbac.authorization.k8s.io\n  kind: ${kind}\n  name: ${role}\n`;
  return `${formatHead(`${kind}Binding`, name, namespace)}roleRef:\n${reference}subjects:\n${subject}`;
}

/** A rule of a role about one resource. */
interface Rule {
  readonly group: string;
  readonly resource: string;
  readonly names: readonly string[];
  readonly verbs: readonly string[];
}

/** Joins the verbs for a resource, and the names for which these are equal. */
function mergeRules(rights: readonly Right[]): readonly Rule[] {
  const targets = Map.groupBy(rights, ({ group, resource, subresource, name }) =>
    [group, subresource === undefined ? resource : `${resource}/${subresource}`, name].join(" "),
  );
  const rules = [...targets.values()].flatMap((of) => {
    const [{ group, resource, subresource, name } = { group: "", resource: "" }] = of;
    return {
      group,
      resource: subresource === undefined ? resource : `${resource}/${subresource}`,
      names: name === undefined ? [] : [name],
      verbs: of.map(({ verb }) => verb),
    };
  });
  const equal = Map.groupBy(rules, ({ group, resource, names, verbs }) =>
    [group, resource, names.length, ...verbs].join(" "),
  );
  return [...equal.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : { ...first, names: [...first.names, ...others.flatMap(({ names }) => names)] },
  );
}

function formatRule({ group, resource, names, verbs }: Rule): string {
  const listed = names.length === 1 ? ` [${names}]` : names.map((name) => `\n      - ${name}`).join("");
  return [
    `  - apiGroups: [${group === "" ? '""' : group}]`,
    `    resources: [${resource}]`,
    ...(names.length === 0 ? [] : [`    resourceNames:${listed}`]),
    `    verbs: [${verbs.join(", ")}]`,
    "",
  ].join("\n");
}

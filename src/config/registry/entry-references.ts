import type { Cluster } from "#config/cluster.ts";
import type { FieldError } from "#config/describe-errors.ts";
import { formatReference, type SecretReference } from "#platforms/secrets/reference.ts";

/** The secrets that entries may name if people other than the operator can write them. */
export interface AllowedSecrets {
  /** Allowed beginnings of references, by store. */
  readonly prefixes: readonly { readonly store: Store; readonly prefix: string }[];
  /** Faults in the setting; a faulty part allows nothing. */
  readonly faults: readonly string[];
}

type Store = "ssm" | "secretsmanager";

export const NO_SECRETS: AllowedSecrets = { prefixes: [], faults: [] };

/** The origin of an entry, which decides what the entry may name. */
export interface EntryOrigin {
  readonly allowedSecrets: AllowedSecrets;
  /** Path of a registry in SSM; ends with `/`. Secrets below it need no setting. */
  readonly ownPath?: string;
  /** For a Secret: its management cluster, and the namespace whose Secrets may be used to mint tokens. */
  readonly management?: { readonly home: string; readonly namespace: string };
}

/**
 * Parses prefixes separated by commas or spaces: `ssm:/tenants/`, `secretsmanager:tenants/`, or the beginning
 * of an ARN after the store.
 */
export function parseAllowedSecrets(text: string): AllowedSecrets {
  const written = text.split(/[\s,]+/).filter((each) => each !== "");
  const prefixes: AllowedSecrets["prefixes"][number][] = [];
  const faults: string[] = [];
  for (const each of written) {
    const [, store, prefix] = /^(ssm|secretsmanager):(.+)$/.exec(each) ?? [];
    if (prefix === undefined) faults.push(`"${each.slice(0, 100)}" is not a prefix of secrets; ${EXAMPLE}`);
    else prefixes.push({ store: store === "ssm" ? "ssm" : "secretsmanager", prefix });
  }
  return { prefixes: faults.length > 0 ? [] : prefixes, faults };
}

const EXAMPLE = "write it as ssm:/tenants/ or secretsmanager:tenants/";

/**
 * Returns a fault for every file in an entry, and for every secret that its origin does not allow. An
 * operator's own file is not checked. The check matters because this process sends what it reads to the
 * server in the entry.
 */
export function findRefusedReferences(cluster: Cluster, origin: EntryOrigin): readonly FieldError[] {
  const { certificateAuthorityFile, signIn, cloud } = cluster;
  return findRejectedIn({ certificateAuthorityFile, signIn, cloud }, [], origin);
}

/** Maps with free keys; nothing under them names a file. */
const FREE_KEYS: ReadonlySet<string> = new Set(
  "defined freeform labels quotas securityLists server-metadata tags".split(" "),
);
const NAMES_FILE = /(^file|File|-file)$/;

function findRejectedIn(value: unknown, path: readonly string[], origin: EntryOrigin): FieldError[] {
  if (typeof value !== "object" || value === null) return [];
  const reference = value as SecretReference;
  if (reference.secretsManager !== undefined || reference.ssmParameter !== undefined)
    return isAllowed(reference, origin) ? [] : [{ path, message: checkSecretReference(reference, origin) }];
  return Object.entries(value).flatMap(([key, each]): FieldError[] => {
    const keyPath = [...path, key];
    if (each === undefined || FREE_KEYS.has(key)) return [];
    if (NAMES_FILE.test(key)) return [{ path: keyPath, message: FILE }];
    if (Reflect.get(Object(each), "kind") === "minted-token") return checkMinting(each, keyPath, origin);
    return findRejectedIn(each, keyPath, origin);
  });
}

const FILE =
  "names a file, which an entry may only in a file of the operator's; write an authority as certificateAuthorityData, and keep what signs in as a secret (from, credentials)";

function isAllowed(reference: SecretReference, { allowedSecrets, ownPath }: EntryOrigin): boolean {
  const { ssmParameter, secretsManager, roleArn } = reference;
  const [store, name = ""] =
    ssmParameter === undefined ? ["secretsmanager", secretsManager] : ["ssm", ssmParameter];
  if (ownPath !== undefined && store === "ssm" && roleArn === undefined) {
    const own = /^arn:[^:]+:ssm:[^:]*:[^:]*:parameter(\/.*)$/.exec(name)?.[1] ?? name;
    if (own.startsWith(ownPath)) return true;
  }
  // A secret's name means another secret in each account, and with a role the entry chooses the account.
  if (roleArn !== undefined && !name.startsWith("arn:")) return false;
  return allowedSecrets.prefixes.some((each) => each.store === store && name.startsWith(each.prefix));
}

function checkSecretReference(reference: SecretReference, { allowedSecrets }: EntryOrigin): string {
  const because = allowedSecrets.faults.length === 0 ? "" : `; ${allowedSecrets.faults.join("; ")}`;
  const ofRole = reference.roleArn === undefined ? "" : ", by its ARN, as roleArn is another account's";
  return `names ${formatReference(reference)}, which begins with none of the operator's prefixes; allow it by --allowed-secrets or ALLOWED_SECRETS${ofRole}, for relay and functions alike${because}`;
}

/**
 * Minting reads an administrator's kubeconfig: allowed only from the registry's own cluster and the namespace
 * of the entry's own Secret.
 */
function checkMinting(
  signInMethod: unknown,
  path: readonly string[],
  { management }: EntryOrigin,
): FieldError[] {
  const { management: registry, secret } = signInMethod as {
    readonly management: string;
    readonly secret: string;
  };
  if (management === undefined)
    return /^kubernetes:(\?|$)/.test(registry)
      ? []
      : [
          {
            path: [...path, "management"],
            message: "names a file: a kubeconfig of the operator's; write kubernetes:",
          },
        ];
  if (registry !== management.home)
    return [
      { path: [...path, "management"], message: `is another management cluster than ${management.home}` },
    ];
  if (secret.startsWith(`${management.namespace}/`)) return [];
  return [{ path: [...path, "secret"], message: `is not in the namespace ${management.namespace}` }];
}

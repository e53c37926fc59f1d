import { referenceWords, type SecretReference } from "#clouds/secrets/reference.ts";
import type { Cluster } from "#config/cluster.ts";
import type { WrittenFault } from "#config/fault-words.ts";

/** Which secrets entries may name that others than the operator may write. */
export interface AllowedSecrets {
  /** What a reference begins with, by its store. */
  readonly prefixes: readonly { readonly store: Store; readonly prefix: string }[];
  /** What is wrong with the setting; what is wrong with it allows nothing. */
  readonly faults: readonly string[];
}

type Store = "ssm" | "secretsmanager";

export const NO_SECRETS: AllowedSecrets = { prefixes: [], faults: [] };

/** Where an entry is written down, as far as that decides what it may name. */
export interface EntryOrigin {
  readonly allowedSecrets: AllowedSecrets;
  /** Of a home in SSM; ends with `/`. Secrets below it need no setting. */
  readonly ownPath?: string;
  /** Of a Secret: its management cluster, and the namespace whose Secrets tokens may be minted with. */
  readonly management?: { readonly home: string; readonly namespace: string };
}

/** Reads prefixes with commas or spaces between them: `ssm:/tenants/`, `secretsmanager:tenants/`, or the beginning of an ARN behind the store. */
export function parseAllowedSecrets(text: string): AllowedSecrets {
  const written = text.split(/[\s,]+/).filter((each) => each !== "");
  const prefixes: AllowedSecrets["prefixes"][number][] = [];
  const faults: string[] = [];
  for (const each of written) {
    const [, store, prefix] = /^(ssm|secretsmanager):(.+)$/.exec(each) ?? [];
    if (prefix === undefined) faults.push(`"${each.slice(0, 100)}" is no prefix of secrets; ${EXAMPLE}`);
    else prefixes.push({ store: store === "ssm" ? "ssm" : "secretsmanager", prefix });
  }
  return { prefixes: faults.length > 0 ? [] : prefixes, faults };
}

const EXAMPLE = "write it as ssm:/tenants/ or secretsmanager:tenants/";

/**
 * Returns a fault for every file that an entry names, and for every secret that its origin does not let it name. Of an operator's own
 * file nothing is asked: what this process may read is sent to the server that the entry names.
 */
export function findRefusedReferences(cluster: Cluster, origin: EntryOrigin): readonly WrittenFault[] {
  const { certificateAuthorityFile, signIn, cloud } = cluster;
  return refusedIn({ certificateAuthorityFile, signIn, cloud }, [], origin);
}

/** Maps whose keys are anybody's words; nothing under them names a file. */
const FREE_KEYS: ReadonlySet<string> = new Set(
  "defined freeform labels quotas securityLists server-metadata tags".split(" "),
);
const NAMES_FILE = /(^file|File|-file)$/;

function refusedIn(value: unknown, path: readonly string[], origin: EntryOrigin): WrittenFault[] {
  if (typeof value !== "object" || value === null) return [];
  const reference = value as SecretReference;
  if (reference.secretsManager !== undefined || reference.ssmParameter !== undefined)
    return isAllowed(reference, origin) ? [] : [{ path, message: refusedSecret(reference, origin) }];
  return Object.entries(value).flatMap(([key, each]): WrittenFault[] => {
    const keyPath = [...path, key];
    if (each === undefined || FREE_KEYS.has(key)) return [];
    if (NAMES_FILE.test(key)) return [{ path: keyPath, message: FILE }];
    if (Reflect.get(Object(each), "kind") === "minted-token") return refusedMinting(each, keyPath, origin);
    return refusedIn(each, keyPath, origin);
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
  // A name is another secret in each account, and with a role the account is whatever the entry says.
  if (roleArn !== undefined && !name.startsWith("arn:")) return false;
  return allowedSecrets.prefixes.some((each) => each.store === store && name.startsWith(each.prefix));
}

function refusedSecret(reference: SecretReference, { allowedSecrets }: EntryOrigin): string {
  const because = allowedSecrets.faults.length === 0 ? "" : `; ${allowedSecrets.faults.join("; ")}`;
  const ofRole = reference.roleArn === undefined ? "" : ", by its ARN, as roleArn is another account's";
  return `names ${referenceWords(reference)}, which begins with none of the operator's prefixes; allow it by --allowed-secrets or ALLOWED_SECRETS${ofRole}, for relay and functions alike${because}`;
}

/** An administrator's kubeconfig is read to mint a token: of the home itself, and of the namespace of the entry's own Secret. */
function refusedMinting(how: unknown, path: readonly string[], { management }: EntryOrigin): WrittenFault[] {
  const { management: home, secret } = how as { readonly management: string; readonly secret: string };
  if (management === undefined)
    return /^kubernetes:(\?|$)/.test(home)
      ? []
      : [
          {
            path: [...path, "management"],
            message: "names a file: a kubeconfig of the operator's; write kubernetes:",
          },
        ];
  if (home !== management.home)
    return [
      { path: [...path, "management"], message: `is another management cluster than ${management.home}` },
    ];
  if (secret.startsWith(`${management.namespace}/`)) return [];
  return [{ path: [...path, "secret"], message: `is not in the namespace ${management.namespace}` }];
}

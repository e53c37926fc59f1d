import {
  type AuthenticationConfiguration,
  FIRST_STABLE_MINOR,
  type JwtAuthenticator,
  MAX_ISSUERS,
} from "#core/authentication/configuration.ts";
import { mergeTrust } from "#core/authentication/merge-trust.ts";
import { buildAuthenticator, type Trust } from "#core/authentication/trust.ts";
import type { ConfigError } from "#core/config-errors.ts";
import { formatCanonicalJson } from "#core/hash.ts";

/** A Kubernetes version, 1.MINOR, and the version of the file there. */
export interface ServerVersion {
  readonly minor: number;
  readonly apiVersion: AuthenticationConfiguration["apiVersion"];
}

/** The issuers whose tokens an API server should accept. */
export interface DesiredIssuers {
  readonly server: ServerVersion;
  readonly trusts: readonly Trust[];
  /** The result of translating `--oidc-*` flags. */
  readonly translated?: JwtAuthenticator | undefined;
}

/** An entry of the list `jwt` with the fields that are compared; it also keeps all others. */
export interface IssuerEntry {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string | null | undefined;
    readonly egressSelectorType?: string | null | undefined;
  };
}

/** The file in its new form. */
export interface ConfigurationFile {
  readonly apiVersion: AuthenticationConfiguration["apiVersion"];
  readonly kind: AuthenticationConfiguration["kind"];
  readonly jwt: readonly IssuerEntry[];
}

/** A complete file, or every error in it, by path. */
export type ConfigureResult =
  | { readonly kind: "configured"; readonly configuration: ConfigurationFile }
  | { readonly kind: "faults"; readonly faults: readonly ConfigError[] };

/**
 * Returns the file with the desired issuers, new or merged into an existing one. Entries of other issuers and
 * unknown keys stay unchanged. Repeating it changes nothing.
 */
export function configure(
  existing: AuthenticationConfiguration | undefined,
  { server, trusts, translated }: DesiredIssuers,
): ConfigureResult {
  const faults: ConfigError[] = [];
  const entries: IssuerEntry[] = [...(existing?.jwt ?? [])];
  const urls = (existing?.jwt ?? []).map(({ issuer }) => issuer.url);
  if (translated !== undefined) {
    const index = urls.indexOf(translated.issuer.url);
    if (index < 0) entries.push(translated);
    else if (formatCanonicalJson(entries[index]) !== formatCanonicalJson(translated))
      faults.push({ path: formatJwtPath(index), message: DIFFERS_FROM_FLAGS });
  }
  for (const trust of trusts) {
    const index = urls.indexOf(trust.issuer.url);
    if (index < 0) {
      entries.push(buildAuthenticator(trust));
      continue;
    }
    const merged = mergeTrust(entries[index], trust);
    if (merged.kind === "merged") entries[index] = merged.entry;
    else faults.push({ path: formatJwtPath(index), message: merged.because });
  }
  faults.push(...checkEntries(entries, server.minor));
  if (faults.length > 0) return { kind: "faults", faults };
  const { apiVersion } = server;
  const configuration = {
    ...existing,
    apiVersion,
    kind: "AuthenticationConfiguration",
    jwt: entries,
  } as const;
  return { kind: "configured", configuration };
}

const DIFFERS_FROM_FLAGS =
  "is of the issuer of --oidc-issuer-url, and says otherwise than the flags; leave one of them out, as an API server takes one entry of each issuer";

/** Errors for which kube-apiserver would reject the entries together. */
function checkEntries(entries: readonly IssuerEntry[], minor: number): ConfigError[] {
  const faults: ConfigError[] = [];
  if (entries.length > MAX_ISSUERS)
    faults.push({ path: "jwt", message: `has ${entries.length} issuers, and ${MAX_ISSUERS} are the most` });
  for (const key of ["url", "discoveryURL"] as const) {
    const seen = new Map<string, number>();
    for (const [index, { issuer }] of entries.entries()) {
      const value = issuer[key] ?? "";
      const before = seen.get(value);
      if (before !== undefined)
        faults.push({
          path: `${formatJwtPath(index)}.issuer.${key}`,
          message: `is that of ${formatJwtPath(before)}, too`,
        });
      else if (value !== "") seen.set(value, index);
    }
  }
  if (minor >= FIRST_STABLE_MINOR) return faults;
  for (const [index, { issuer }] of entries.entries())
    if (issuer.egressSelectorType)
      faults.push({
        path: `${formatJwtPath(index)}.issuer.egressSelectorType`,
        message: `is known since Kubernetes 1.${FIRST_STABLE_MINOR}, and the server is 1.${minor}`,
      });
  return faults;
}

function formatJwtPath(index: number): string {
  return `jwt[${index}]`;
}

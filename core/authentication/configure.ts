import {
  type AuthenticationConfiguration,
  FIRST_STABLE_MINOR,
  type JwtAuthenticator,
  MAX_ISSUERS,
} from "#core/authentication/configuration.ts";
import { mergeTrust } from "#core/authentication/merge-trust.ts";
import { authenticatorOf, type Trust } from "#core/authentication/trust.ts";
import type { Fault } from "#core/faults.ts";
import { canonicalJson } from "#core/hash.ts";

/** Which version of Kubernetes, 1.MINOR, and the file's version there. */
export interface ServerVersion {
  readonly minor: number;
  readonly apiVersion: AuthenticationConfiguration["apiVersion"];
}

/** What an API server is to take tokens of. */
export interface WantedIssuers {
  readonly server: ServerVersion;
  readonly trusts: readonly Trust[];
  /** What `--oidc-*` flags came to. */
  readonly translated?: JwtAuthenticator | undefined;
}

/** An entry of the list `jwt`, as far as it is compared with others; the rest of it is there, too. */
export interface IssuerEntry {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string | null | undefined;
    readonly egressSelectorType?: string | null | undefined;
  };
}

/** A file as it is to be written. */
export interface WrittenConfiguration {
  readonly apiVersion: AuthenticationConfiguration["apiVersion"];
  readonly kind: AuthenticationConfiguration["kind"];
  readonly jwt: readonly IssuerEntry[];
}

/** A whole file, or all that is wrong with what it would be, by path. */
export type Configured =
  | { readonly kind: "configured"; readonly configuration: WrittenConfiguration }
  | { readonly kind: "faults"; readonly faults: readonly Fault[] };

/**
 * The file with what is wanted in it, made anew or of one that exists; entries of other issuers, and keys that are not known, stay
 * as they are. Doing it again changes nothing.
 */
export function configure(
  existing: AuthenticationConfiguration | undefined,
  { server, trusts, translated }: WantedIssuers,
): Configured {
  const faults: Fault[] = [];
  const entries: IssuerEntry[] = [...(existing?.jwt ?? [])];
  const urls = (existing?.jwt ?? []).map(({ issuer }) => issuer.url);
  if (translated !== undefined) {
    const index = urls.indexOf(translated.issuer.url);
    if (index < 0) entries.push(translated);
    else if (canonicalJson(entries[index]) !== canonicalJson(translated))
      faults.push({ path: placeOf(index), message: DIFFERS_FROM_FLAGS });
  }
  for (const trust of trusts) {
    const index = urls.indexOf(trust.issuer.url);
    if (index < 0) {
      entries.push(authenticatorOf(trust));
      continue;
    }
    const merged = mergeTrust(entries[index], trust);
    if (merged.kind === "merged") entries[index] = merged.entry;
    else faults.push({ path: placeOf(index), message: merged.because });
  }
  faults.push(...refusalsOf(entries, server.minor));
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

/** Why kube-apiserver would refuse the entries together. */
function refusalsOf(entries: readonly IssuerEntry[], minor: number): Fault[] {
  const faults: Fault[] = [];
  if (entries.length > MAX_ISSUERS)
    faults.push({ path: "jwt", message: `has ${entries.length} issuers, and ${MAX_ISSUERS} are the most` });
  for (const key of ["url", "discoveryURL"] as const) {
    const seen = new Map<string, number>();
    for (const [index, { issuer }] of entries.entries()) {
      const value = issuer[key] ?? "";
      const before = seen.get(value);
      if (before !== undefined)
        faults.push({
          path: `${placeOf(index)}.issuer.${key}`,
          message: `is that of ${placeOf(before)}, too`,
        });
      else if (value !== "") seen.set(value, index);
    }
  }
  if (minor >= FIRST_STABLE_MINOR) return faults;
  for (const [index, { issuer }] of entries.entries())
    if (issuer.egressSelectorType)
      faults.push({
        path: `${placeOf(index)}.issuer.egressSelectorType`,
        message: `is known since Kubernetes 1.${FIRST_STABLE_MINOR}, and the server is 1.${minor}`,
      });
  return faults;
}

function placeOf(index: number): string {
  return `jwt[${index}]`;
}

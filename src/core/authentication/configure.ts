import * as z from "zod";
import {
  type AuthenticationConfiguration,
  FIRST_STABLE_MINOR,
  type JwtAuthenticator,
  MAX_ISSUERS,
  type ValidationRule,
} from "#core/authentication/configuration.ts";
import {
  buildAudiences,
  buildAuthenticator,
  buildClaimRules,
  buildUsernameExpression,
  GROUPS_EXPRESSION,
  MAX_LIFETIME_SECONDS,
  OUR_MESSAGE,
  readLifetimeSeconds,
  readRoles,
  type Trust,
  type TrustedRole,
  USER_RULES,
} from "#core/authentication/trust.ts";
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
          message: `repeats the value of ${formatJwtPath(before)}`,
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

/** An entry with a trust added, or the reason why a person must do it. */
type MergeTrustResult =
  | { readonly kind: "merged"; readonly entry: Entry }
  | { readonly kind: "refused"; readonly because: string };

const Rule = z.looseObject({ expression: z.string().optional(), message: z.string().optional() });

/** An entry of the same issuer, from any writer. */
const Entry = z.looseObject({
  issuer: z.looseObject({ url: z.string(), audiences: z.array(z.string()).min(1) }),
  claimValidationRules: z.array(Rule).nullish(),
  claimMappings: z.looseObject({
    username: z.looseObject({ expression: z.string() }),
    groups: z.unknown().optional(),
  }),
  userValidationRules: z.array(Rule).nullish(),
});
type Entry = z.output<typeof Entry>;

/**
 * Adds audiences and roles to an entry that `buildAuthenticator` wrote for the same issuer, in this or an
 * earlier version. Other content is kept; our rules are updated. An entry that names users differently is
 * rejected. Rules apply to all of an issuer's tokens, so each side's rules would lock out the other's users.
 */
export function mergeTrust(existing: unknown, trust: Trust): MergeTrustResult {
  const { data: entry } = Entry.safeParse(existing);
  const known = entry === undefined ? undefined : readRoles(entry.claimMappings.username.expression);
  if (entry === undefined || known === undefined) return { kind: "refused", because: NOT_OURS };
  const roles = mergeRoles(known, trust.roles);
  if (typeof roles === "string") return { kind: "refused", because: roles };
  const rules = entry.claimValidationRules ?? [];
  const seconds =
    trust.maxLifetimeSeconds ??
    rules.map(readLifetimeSeconds).find((each) => each !== undefined) ??
    MAX_LIFETIME_SECONDS;
  return {
    kind: "merged",
    entry: {
      ...entry,
      issuer: mergeIssuer(entry.issuer, trust),
      claimValidationRules: mergeRules(rules, buildClaimRules(roles, seconds)),
      claimMappings: {
        ...entry.claimMappings,
        username: { ...entry.claimMappings.username, expression: buildUsernameExpression(roles) },
        groups: entry.claimMappings.groups ?? { expression: GROUPS_EXPRESSION },
      },
      userValidationRules: mergeRules(entry.userValidationRules ?? [], USER_RULES),
    },
  };
}

const NOT_OURS =
  "has an entry of this issuer that maps users in another way, and an API server takes one entry of each issuer; take the roles into that entry by hand, or have them sign in from an account of their own";

function mergeIssuer(existing: Entry["issuer"], { issuer, audiences }: Trust): Entry["issuer"] {
  const given = Object.entries(issuer).filter(([, value]) => value !== undefined);
  return {
    ...existing,
    ...Object.fromEntries(given),
    ...buildAudiences([...new Set([...existing.audiences, ...audiences])]),
  };
}

/** Known roles come first; a role with two users is an error. */
function mergeRoles(
  known: readonly TrustedRole[],
  given: readonly TrustedRole[],
): readonly TrustedRole[] | string {
  const users = new Map(known.map(({ arn, user }) => [arn, user]));
  for (const { arn, user } of given) {
    const other = users.get(arn);
    if (other !== undefined && other !== user)
      return `has ${arn} as the user ${other}, and a role is one user; it cannot be ${user}, too`;
    users.set(arn, user);
  }
  return [...users].map(([arn, user]) => ({ arn, user }));
}

/** Our rules keep their positions, other rules stay, and new rules come last. */
function mergeRules(
  existing: readonly z.output<typeof Rule>[],
  ours: readonly ValidationRule[],
): z.output<typeof Rule>[] {
  const missing = new Set(ours);
  const kept = existing.flatMap((rule): z.output<typeof Rule>[] => {
    const own = ours.find((each) => each.message === rule.message || each.expression === rule.expression);
    // An earlier version wrote this rule, and this version does not.
    if (own === undefined) return rule.message?.startsWith(OUR_MESSAGE) ? [] : [rule];
    return missing.delete(own) ? [{ ...own }] : [];
  });
  return [...kept, ...[...missing].map((rule) => ({ ...rule }))];
}

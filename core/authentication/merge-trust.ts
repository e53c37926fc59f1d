import * as z from "zod";
import type { ValidationRule } from "#core/authentication/configuration.ts";
import {
  buildAudiences,
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

/** An entry with a trust added, or the reason why a person must do it. */
export type MergeTrustResult =
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

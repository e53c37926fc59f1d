import { celList, celMap, readCelMap } from "#core/authentication/cel-text.ts";
import type {
  EgressSelectorType,
  JwtAuthenticator,
  ValidationRule,
} from "#core/authentication/configuration.ts";

/** Whose tokens an API server takes for our identities. */
export interface Trust {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string | undefined;
    readonly certificateAuthority?: string | undefined;
    readonly egressSelectorType?: EgressSelectorType | undefined;
  };
  /** At least one. */
  readonly audiences: readonly string[];
  /** At least one; no role is two users. */
  readonly roles: readonly TrustedRole[];
  /** Seconds from a token's issue to its end at the most; what an entry has already, or an hour, without it. */
  readonly maxLifetimeSeconds?: number | undefined;
}

/** An IAM role, and the user that it signs in as. */
export interface TrustedRole {
  readonly arn: string;
  readonly user: string;
}

/** The group of all users that sign in by a role. */
export const OUR_GROUP = "serverless-ccm";

/** AWS signs nothing for longer than an hour. */
export const MAX_LIFETIME_SECONDS = 3_600;

/** The entry that takes tokens of these roles for these audiences, and nothing else. */
export function authenticatorOf({ issuer, audiences, roles, maxLifetimeSeconds }: Trust): JwtAuthenticator {
  const { url, discoveryURL, certificateAuthority, egressSelectorType } = issuer;
  return {
    issuer: {
      url,
      ...(discoveryURL === undefined ? {} : { discoveryURL }),
      ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
      ...audiencesOf(audiences),
      ...(egressSelectorType === undefined ? {} : { egressSelectorType }),
    },
    claimValidationRules: claimRules(roles, maxLifetimeSeconds ?? MAX_LIFETIME_SECONDS),
    claimMappings: {
      username: { expression: usernameExpression(roles) },
      groups: { expression: GROUPS_EXPRESSION },
    },
    userValidationRules: USER_RULES,
  };
}

/** Audiences with the policy that several of them need. */
export function audiencesOf(audiences: readonly string[]): {
  readonly audiences: string[];
  readonly audienceMatchPolicy?: "MatchAny";
} {
  return {
    audiences: [...audiences],
    ...(audiences.length > 1 ? { audienceMatchPolicy: "MatchAny" } : {}),
  };
}

/** The roles and users of a username expression as `authenticatorOf` writes it; undefined for any other. */
export function readRoles(expression: string): readonly TrustedRole[] | undefined {
  const map = /^([\s\S]*\})\s*\[\s*claims\.sub\s*\]\s*$/.exec(expression)?.[1];
  const pairs = map === undefined ? undefined : readCelMap(map);
  return pairs?.map(([arn, user]) => ({ arn, user }));
}

/** The seconds that a rule of ours allows; undefined where it is about something else. */
export function readLifetimeSeconds(rule: {
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}): number | undefined {
  const digits = /^claims\.exp - claims\.iat <= (\d{1,6})$/.exec(rule.expression ?? "")?.[1];
  return rule.message === LIFETIME_MESSAGE && digits !== undefined ? Number(digits) : undefined;
}

/** The user's name by the role: whoever is not listed has none. */
export function usernameExpression(roles: readonly TrustedRole[]): string {
  return `${celMap(roles.map(({ arn, user }) => [arn, user] as const))}[claims.sub]`;
}

export const GROUPS_EXPRESSION = `['${OUR_GROUP}']`;

/** With which the message of each rule of ours begins, by which it is found again. */
export const OUR_MESSAGE = "serverless-ccm: ";
const LIFETIME_MESSAGE = `${OUR_MESSAGE}the token is valid for longer than it may be`;

/** What the claims of a token have to be. */
export function claimRules(roles: readonly TrustedRole[], maxLifetimeSeconds: number): ValidationRule[] {
  return [
    {
      expression: `claims.sub in ${celList(roles.map(({ arn }) => arn))}`,
      message: `${OUR_MESSAGE}the role is none of those that may sign in`,
    },
    { expression: `claims.exp - claims.iat <= ${maxLifetimeSeconds}`, message: LIFETIME_MESSAGE },
    {
      // What one cluster's API server has seen must be of no use at another's.
      expression: "type(claims.aud) == string || size(claims.aud) == 1",
      message: `${OUR_MESSAGE}the token is for other audiences, too`,
    },
  ];
}

/** What the user has to be whom a token comes to, whatever the mappings are changed to. */
export const USER_RULES: readonly ValidationRule[] = [
  {
    expression: "!user.username.startsWith('system:')",
    message: `${OUR_MESSAGE}no user of Kubernetes' own`,
  },
  {
    expression: "user.groups.all(group, !group.startsWith('system:'))",
    message: `${OUR_MESSAGE}no group of Kubernetes' own`,
  },
];

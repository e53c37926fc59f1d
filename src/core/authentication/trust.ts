import type {
  EgressSelectorType,
  JwtAuthenticator,
  ValidationRule,
} from "#core/authentication/configuration.ts";

/** The tokens that an API server accepts as our identities. */
export interface Trust {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string | undefined;
    readonly certificateAuthority?: string | undefined;
    readonly egressSelectorType?: EgressSelectorType | undefined;
  };
  /** At least one. */
  readonly audiences: readonly string[];
  /** At least one; no role maps to two users. */
  readonly roles: readonly TrustedRole[];
  /** The maximum lifetime of a token in seconds; by default an existing entry's value, or one hour. */
  readonly maxLifetimeSeconds?: number | undefined;
}

/** An IAM role, and its user in the cluster. */
export interface TrustedRole {
  readonly arn: string;
  readonly user: string;
}

/** The group of all users that sign in with a role. */
export const OUR_GROUP = "serverless-ccm";

/** AWS signs tokens for at most one hour. */
export const MAX_LIFETIME_SECONDS = 3_600;

/** Returns the entry that accepts tokens of these roles for these audiences, and no others. */
export function buildAuthenticator({
  issuer,
  audiences,
  roles,
  maxLifetimeSeconds,
}: Trust): JwtAuthenticator {
  const { url, discoveryURL, certificateAuthority, egressSelectorType } = issuer;
  return {
    issuer: {
      url,
      ...(discoveryURL === undefined ? {} : { discoveryURL }),
      ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
      ...buildAudiences(audiences),
      ...(egressSelectorType === undefined ? {} : { egressSelectorType }),
    },
    claimValidationRules: buildClaimRules(roles, maxLifetimeSeconds ?? MAX_LIFETIME_SECONDS),
    claimMappings: {
      username: { expression: buildUsernameExpression(roles) },
      groups: { expression: GROUPS_EXPRESSION },
    },
    userValidationRules: USER_RULES,
  };
}

/** Returns the audiences, with the match policy that several of them need. */
export function buildAudiences(audiences: readonly string[]): {
  readonly audiences: string[];
  readonly audienceMatchPolicy?: "MatchAny";
} {
  return {
    audiences: [...audiences],
    ...(audiences.length > 1 ? { audienceMatchPolicy: "MatchAny" } : {}),
  };
}

/**
 * Parses the roles and users of a username expression from `buildAuthenticator`; undefined for any other
 * expression.
 */
export function readRoles(expression: string): readonly TrustedRole[] | undefined {
  const map = /^([\s\S]*\})\s*\[\s*claims\.sub\s*\]\s*$/.exec(expression)?.[1];
  const pairs = map === undefined ? undefined : readCelMap(map);
  return pairs?.map(([arn, user]) => ({ arn, user }));
}

/**
 * Returns the lifetime in seconds that one of our rules allows; undefined if the rule is about something
 * else.
 */
export function readLifetimeSeconds(rule: {
  readonly expression?: string | undefined;
  readonly message?: string | undefined;
}): number | undefined {
  const digits = /^claims\.exp - claims\.iat <= (\d{1,6})$/.exec(rule.expression ?? "")?.[1];
  return rule.message === LIFETIME_MESSAGE && digits !== undefined ? Number(digits) : undefined;
}

/** Returns the expression that maps a role to its user name; a role that is not listed has no user. */
export function buildUsernameExpression(roles: readonly TrustedRole[]): string {
  return `${formatCelMap(roles.map(({ arn, user }) => [arn, user] as const))}[claims.sub]`;
}

export const GROUPS_EXPRESSION = `['${OUR_GROUP}']`;

/** The prefix of the message of each of our rules, by which we recognize them. */
export const OUR_MESSAGE = "serverless-ccm: ";

const LIFETIME_MESSAGE = `${OUR_MESSAGE}the token is valid for longer than it may be`;

/** Returns the rules for the claims of a token. */
export function buildClaimRules(roles: readonly TrustedRole[], maxLifetimeSeconds: number): ValidationRule[] {
  return [
    {
      expression: `claims.sub in ${formatCelList(roles.map(({ arn }) => arn))}`,
      message: `${OUR_MESSAGE}the role may not sign in`,
    },
    { expression: `claims.exp - claims.iat <= ${maxLifetimeSeconds}`, message: LIFETIME_MESSAGE },
    {
      // A token that one cluster's API server has seen must be useless at another's.
      expression: "type(claims.aud) == string || size(claims.aud) == 1",
      message: `${OUR_MESSAGE}the token is for other audiences, too`,
    },
  ];
}

/** The rules for the user that a token maps to, which hold even if the mappings are changed. */
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

/** Returns a text as a CEL string literal, with any characters escaped. */
export function formatCelString(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&").replaceAll(ACTS, escapeUnicode)}'`;
}

/** Returns texts as a CEL list literal, one per line. */
export function formatCelList(texts: readonly string[]): string {
  return `[\n${texts.map((text) => `  ${formatCelString(text)},\n`).join("")}]`.replace(/,\n\]$/, "\n]");
}

/** Returns pairs of texts as a CEL map literal, one per line. */
export function formatCelMap(pairs: readonly (readonly [key: string, value: string])[]): string {
  const lines = pairs.map(([key, value]) => `  ${formatCelString(key)}: ${formatCelString(value)}`);
  return `{\n${lines.join(",\n")}\n}`;
}

/** Parses the pairs of a map literal from `formatCelMap`, ignoring blanks; undefined for any other text. */
export function readCelMap(text: string): readonly (readonly [key: string, value: string])[] | undefined {
  const inner = MAP.exec(text)?.[1];
  if (inner === undefined) return undefined;
  const pairs: (readonly [string, string])[] = [];
  for (const [, key = "", value = ""] of inner.matchAll(PAIR)) {
    const pair = [parsePlainText(key), parsePlainText(value)] as const;
    if (pair[0] === undefined || pair[1] === undefined) return undefined;
    pairs.push([pair[0], pair[1]]);
  }
  return pairs;
}

/** Control characters and line separators, which a literal must not contain unescaped. */
const ACTS = /[\p{Cc}\p{Zl}\p{Zp}]/gu;

const STRING = String.raw`'((?:[^'\\\n]|\\.)*)'`;

const PAIR = new RegExp(String.raw`${STRING}\s*:\s*${STRING}`, "g");

const WHOLE_PAIR = PAIR.source.replaceAll("((?:", "(?:(?:");

const MAP = new RegExp(String.raw`^\s*\{\s*((?:${WHOLE_PAIR}\s*(?:,\s*|(?=\})))*)\}\s*$`);

function escapeUnicode(character: string): string {
  return `\\u${Number(character.codePointAt(0)).toString(16).padStart(4, "0")}`;
}

/** Returns the text between the quotes; undefined if it has escapes that `formatCelString` does not write. */
function parsePlainText(literal: string): string | undefined {
  const rest = literal.replaceAll(/\\([\\'])/g, "");
  return rest.includes("\\") ? undefined : literal.replaceAll(/\\([\\'])/g, "$1");
}

/**
 * Returns the audience of a cluster's API server, for tokens that only this cluster accepts. A token that
 * another cluster has seen is useless there.
 */
export function formatAudience(clusterName: string): string {
  return `serverless-ccm:${clusterName}`;
}

/**
 * Returns why a text cannot be an audience; undefined if it can. sts:GetWebIdentityToken accepts up to 1,000
 * characters.
 */
export function checkAudience(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text.length > 1_000) return "is longer than 1000 characters";
  return /[\p{Cc}\p{Z}]/u.test(text) ? "has blanks or control characters" : undefined;
}

/**
 * Returns why kube-apiserver would reject a URL as an issuer's, or as that of its discovery document;
 * undefined if it accepts it.
 */
export function checkIssuerUrl(url: string): string | undefined {
  if (!/^https:\/\/[^/?#]/i.test(url)) return "is not an https URL";
  if (/[\p{Cc}\p{Z}]/u.test(url)) return "has blanks or control characters";
  if (/^https:\/\/[^/?#]*@/i.test(url)) return "has a user name in it";
  if (/[?#]/.test(url)) return "has a query or a fragment";
  return undefined;
}

/** An IAM role, as the subject of a token from sts:GetWebIdentityToken names it. */
interface RoleArn {
  readonly partition: string;
  /** Twelve digits. */
  readonly account: string;
}

/** Parses the ARN of an IAM role; undefined for any other text, such as a role session's ARN. */
export function parseRoleArn(text: string): RoleArn | undefined {
  const [, partition, account] = ROLE.exec(text) ?? [];
  if (partition === undefined || account === undefined) return undefined;
  return { partition, account };
}

/**
 * Returns whether an ARN names a role session, as sts:GetCallerIdentity does. The session's token has the
 * role's own ARN.
 */
export function isSessionArn(text: string): boolean {
  return /^arn:[a-z-]+:sts::\d{12}:assumed-role\//.test(text);
}

// A path may contain any visible ASCII character, quotes included.
const ROLE = /^arn:(aws[a-z-]*):iam::(\d{12}):role\/(?:[\x21-\x7e]{1,510}\/)?[\w+=,.@-]{1,64}$/;

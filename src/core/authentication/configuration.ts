import * as z from "zod";

/**
 * An issuer whose tokens kube-apiserver accepts: an item of the list `jwt` in an AuthenticationConfiguration.
 */
export interface JwtAuthenticator {
  readonly issuer: {
    readonly url: string;
    readonly discoveryURL?: string;
    /** PEM. */
    readonly certificateAuthority?: string;
    readonly audiences: readonly string[];
    readonly audienceMatchPolicy?: "MatchAny";
    readonly egressSelectorType?: EgressSelectorType;
  };
  readonly claimValidationRules?: readonly (
    | { readonly claim: string; readonly requiredValue?: string }
    | ValidationRule
  )[];
  readonly claimMappings: {
    readonly username: ClaimMapping;
    readonly groups?: ClaimMapping;
  };
  readonly userValidationRules?: readonly ValidationRule[];
}

/** A CEL condition, and the message in the API server's log if it is false. */
export interface ValidationRule {
  readonly expression: string;
  readonly message: string;
}

/** The source of a user's name or groups. */
export type ClaimMapping =
  | { readonly claim: string; readonly prefix: string }
  | { readonly expression: string };

/** The API server's egress selectors through which it can reach an issuer. */
export const EGRESS_SELECTOR_TYPES = ["controlplane", "cluster"] as const;
export type EgressSelectorType = (typeof EGRESS_SELECTOR_TYPES)[number];

const GROUP = "apiserver.config.k8s.io";
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`, `${GROUP}/v1alpha1`] as const;

/**
 * The file of kube-apiserver's `--authentication-config`, with the keys that merging needs; other keys are
 * kept.
 */
export const AuthenticationConfiguration = z.looseObject({
  apiVersion: z.enum(VERSIONS),
  kind: z.literal("AuthenticationConfiguration"),
  jwt: z
    .array(
      z.looseObject({
        issuer: z.looseObject({
          url: z.string(),
          discoveryURL: z.string().nullish(),
          audiences: z.array(z.string()).min(1),
          egressSelectorType: z.string().nullish(),
        }),
      }),
    )
    .nullish(),
});
export type AuthenticationConfiguration = z.output<typeof AuthenticationConfiguration>;

/** The maximum number of issuers. */
export const MAX_ISSUERS = 64;

/**
 * Returns the file's version for kube-apiserver 1.MINOR; undefined if the file needs a feature gate there.
 */
export function getApiVersion(minor: number): (typeof VERSIONS)[number] | undefined {
  if (minor < FIRST_BETA_MINOR) return undefined;
  return minor < FIRST_STABLE_MINOR ? `${GROUP}/v1beta1` : `${GROUP}/v1`;
}

/**
 * The minors of Kubernetes 1 in which the file became beta and enabled, and stable with a choice of egress
 * selector.
 */
export const FIRST_BETA_MINOR = 30;
export const FIRST_STABLE_MINOR = 34;

/** Known keys, down to the level below which any key is allowed; for a list, the keys of its items. */
interface KnownKeys {
  readonly [key: string]: KnownKeys | true;
}

const MAPPING: KnownKeys = { claim: true, prefix: true, expression: true };
const RULE: KnownKeys = { claim: true, requiredValue: true, expression: true, message: true };
const KNOWN: KnownKeys = {
  apiVersion: true,
  kind: true,
  anonymous: { enabled: true, conditions: { path: true } },
  jwt: {
    issuer: {
      url: true,
      discoveryURL: true,
      certificateAuthority: true,
      audiences: true,
      audienceMatchPolicy: true,
      egressSelectorType: true,
    },
    claimValidationRules: RULE,
    claimMappings: {
      username: MAPPING,
      groups: MAPPING,
      uid: MAPPING,
      extra: { key: true, valueExpression: true },
    },
    userValidationRules: RULE,
  },
};

/**
 * Returns the paths of keys that kube-apiserver 1.37 does not know. They come from a newer version or are
 * misspelled, and kube-apiserver then rejects the file.
 */
export function listUnknownKeys(value: unknown, known: KnownKeys = KNOWN): (readonly PropertyKey[])[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => listUnknownKeys(item, known).map((path) => [index, ...path]));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]): (readonly PropertyKey[])[] => {
    const below = Object.hasOwn(known, key) ? known[key] : undefined;
    if (below === undefined) return [[key]];
    return below === true ? [] : listUnknownKeys(inner, below).map((path) => [key, ...path]);
  });
}

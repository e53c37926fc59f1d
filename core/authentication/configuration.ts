import * as z from "zod";

/** One issuer that kube-apiserver takes tokens of, as it stands in the list `jwt` of an AuthenticationConfiguration. */
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

/** What has to be true, in CEL, and what the API server's log says where it is not. */
export interface ValidationRule {
  readonly expression: string;
  readonly message: string;
}

/** Where a user's name or groups come from. */
export type ClaimMapping =
  | { readonly claim: string; readonly prefix: string }
  | { readonly expression: string };

/** Through which of its egress selectors an API server asks an issuer. */
export const EGRESS_SELECTOR_TYPES = ["controlplane", "cluster"] as const;
export type EgressSelectorType = (typeof EGRESS_SELECTOR_TYPES)[number];

const GROUP = "apiserver.config.k8s.io";
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`, `${GROUP}/v1alpha1`] as const;

/** The file that kube-apiserver's `--authentication-config` names, as far as merging has to know it; other keys are kept. */
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

/** More issuers than these are refused. */
export const MAX_ISSUERS = 64;

/** The version in which kube-apiserver 1.MINOR takes the file; undefined where it takes none without a feature gate. */
export function apiVersionFor(minor: number): (typeof VERSIONS)[number] | undefined {
  if (minor < FIRST_BETA_MINOR) return undefined;
  return minor < FIRST_STABLE_MINOR ? `${GROUP}/v1beta1` : `${GROUP}/v1`;
}

/** Since these minors of Kubernetes 1 the file is beta and on, and stable with a choice of egress selector. */
export const FIRST_BETA_MINOR = 30;
export const FIRST_STABLE_MINOR = 34;

/** Keys that are known, down to where everything may stand; a list's own are those of its items. */
interface Keys {
  readonly [key: string]: Keys | true;
}

const MAPPING: Keys = { claim: true, prefix: true, expression: true };
const RULE: Keys = { claim: true, requiredValue: true, expression: true, message: true };
const KNOWN: Keys = {
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

/** Paths of keys that kube-apiserver 1.37 does not know: of a newer version, or written wrong, for which it refuses the file. */
export function unknownKeysOf(value: unknown, known: Keys = KNOWN): (readonly PropertyKey[])[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) => unknownKeysOf(item, known).map((path) => [index, ...path]));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]): (readonly PropertyKey[])[] => {
    const below = Object.hasOwn(known, key) ? known[key] : undefined;
    if (below === undefined) return [[key]];
    return below === true ? [] : unknownKeysOf(inner, below).map((path) => [key, ...path]);
  });
}

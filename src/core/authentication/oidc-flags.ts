import type { JwtAuthenticator } from "#core/authentication/configuration.ts";
import { checkIssuerUrl } from "#core/authentication/trust.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

/**
 * kube-apiserver's flags for one OpenID Connect issuer, which it rejects together with a file; undefined for
 * an absent flag.
 */
export interface OidcFlags {
  readonly issuerUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly usernameClaim?: string | undefined;
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  /** Each is `CLAIM=VALUE`. */
  readonly requiredClaim?: readonly string[] | undefined;
  /** Each is one algorithm, or several separated by commas. */
  readonly signingAlgs?: readonly string[] | undefined;
  /** The content of the file of `--oidc-ca-file`. */
  readonly certificateAuthority?: string | undefined;
}

/** The entry that accepts the same tokens as the flags, and the parts of the flags that it cannot express. */
export type TranslatedFlags =
  | {
      readonly kind: "entry";
      readonly entry: JwtAuthenticator;
      readonly notes: readonly string[];
    }
  | { readonly kind: "faults"; readonly faults: readonly ConfigurationFault[] };

/** Translates flags to an entry, as kube-apiserver itself does. */
export function translateOidcFlags(flags: OidcFlags): TranslatedFlags {
  const { issuerUrl = "", clientId = "", usernameClaim = "sub", groupsClaim = "" } = flags;
  const required = parseRequiredClaims(flags.requiredClaim ?? []);
  const algorithms = (flags.signingAlgs ?? ["RS256"]).flatMap((text) => text.split(","));
  const faults = [
    ...checkRequiredFlag("--oidc-issuer-url", issuerUrl),
    ...checkRequiredFlag("--oidc-client-id", clientId),
    ...checkRequiredFlag("--oidc-username-claim", usernameClaim),
    ...(issuerUrl === "" ? [] : checkUrl(issuerUrl)),
    ...required.faults,
    ...algorithms.filter((name) => !ALGORITHMS.includes(name)).map(createAlgorithmError),
  ];
  if (faults.length > 0) return { kind: "faults", faults };
  const { certificateAuthority = "" } = flags;
  const entry: JwtAuthenticator = {
    issuer: {
      url: issuerUrl,
      ...(certificateAuthority === "" ? {} : { certificateAuthority }),
      audiences: [clientId],
    },
    ...(required.claims.length === 0 ? {} : { claimValidationRules: required.claims }),
    claimMappings: {
      username: {
        claim: usernameClaim,
        prefix: getUsernamePrefix(flags.usernamePrefix ?? "", usernameClaim, issuerUrl),
      },
      ...(groupsClaim === "" ? {} : { groups: { claim: groupsClaim, prefix: flags.groupsPrefix ?? "" } }),
    },
  };
  return { kind: "entry", entry, notes: listNotes(entry, algorithms) };
}

/** With a file, all of these are accepted if the issuer publishes the signing key. */
const ALGORITHMS: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
];

/** `-` means no prefix. Without the flag, the issuer URL is the prefix, except for e-mail addresses. */
function getUsernamePrefix(given: string, claim: string, issuerUrl: string): string {
  if (given === "-") return "";
  return given === "" && claim !== "email" ? `${issuerUrl}#` : given;
}

function checkRequiredFlag(name: string, value: string): ConfigurationFault[] {
  return value === ""
    ? [{ name, message: "is missing: kube-apiserver needs it with any --oidc-* flag" }]
    : [];
}

function checkUrl(url: string): ConfigurationFault[] {
  const fault = checkIssuerUrl(url);
  return fault === undefined ? [] : [{ name: "--oidc-issuer-url", message: fault }];
}

function createAlgorithmError(name: string): ConfigurationFault {
  return {
    name: "--oidc-signing-algs",
    message: `${JSON.stringify(name)} is not one of ${ALGORITHMS.join(", ")}`,
  };
}

interface RequiredClaims {
  readonly claims: readonly { readonly claim: string; readonly requiredValue: string }[];
  readonly faults: readonly ConfigurationFault[];
}

/** Ignores blanks around claim and value; the last value of a claim wins. */
function parseRequiredClaims(pairs: readonly string[]): RequiredClaims {
  const values = new Map<string, string>();
  const faults: ConfigurationFault[] = [];
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const claim = pair.slice(0, Math.max(at, 0)).trim();
    if (claim === "")
      faults.push({
        name: "--oidc-required-claim",
        message: `${JSON.stringify(pair)} is not CLAIM=VALUE`,
      });
    else values.set(claim, pair.slice(at + 1).trim());
  }
  return { claims: [...values].map(([claim, requiredValue]) => ({ claim, requiredValue })), faults };
}

function listNotes({ claimMappings }: JwtAuthenticator, algorithms: readonly string[]): string[] {
  const notes: string[] = [];
  if (algorithms.length < ALGORITHMS.length)
    notes.push(
      `--oidc-signing-algs ${algorithms.join(",")} has no equivalent in a file: any algorithm is taken whose key the issuer publishes`,
    );
  const { username, groups } = claimMappings;
  if (hasNoPrefix(username) || hasNoPrefix(groups))
    notes.push(
      "names without a prefix: as with the flags, the issuer can name users or groups that begin with system:, such as system:masters; userValidationRules can refuse them",
    );
  return notes;
}

function hasNoPrefix(mapping: JwtAuthenticator["claimMappings"]["groups"]): boolean {
  return mapping !== undefined && "prefix" in mapping && mapping.prefix === "";
}

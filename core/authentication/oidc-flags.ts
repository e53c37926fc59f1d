import type { JwtAuthenticator } from "#core/authentication/configuration.ts";
import { issuerUrlFault } from "#core/authentication/issuer-url.ts";

/** kube-apiserver's flags of one OpenID Connect issuer, which it refuses beside a file; undefined where one is not given. */
export interface OidcFlags {
  readonly issuerUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly usernameClaim?: string | undefined;
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  /** Each `CLAIM=VALUE`. */
  readonly requiredClaim?: readonly string[] | undefined;
  /** Each one algorithm, or several with a comma between. */
  readonly signingAlgs?: readonly string[] | undefined;
  /** What stands in the file of `--oidc-ca-file`. */
  readonly certificateAuthority?: string | undefined;
}

/** One thing that is wrong, by the flag that it is about. */
export interface FlagFault {
  readonly name: string;
  readonly message: string;
}

/** The entry that takes the tokens that the flags take, and what of them it cannot say. */
export type TranslatedFlags =
  | {
      readonly kind: "entry";
      readonly entry: JwtAuthenticator;
      readonly notes: readonly string[];
    }
  | { readonly kind: "faults"; readonly faults: readonly FlagFault[] };

/** Translates as kube-apiserver itself makes an entry of its flags. */
export function translateOidcFlags(flags: OidcFlags): TranslatedFlags {
  const { issuerUrl = "", clientId = "", usernameClaim = "sub", groupsClaim = "" } = flags;
  const required = requiredClaims(flags.requiredClaim ?? []);
  const algorithms = (flags.signingAlgs ?? ["RS256"]).flatMap((text) => text.split(","));
  const faults = [
    ...missing("--oidc-issuer-url", issuerUrl),
    ...missing("--oidc-client-id", clientId),
    ...missing("--oidc-username-claim", usernameClaim),
    ...(issuerUrl === "" ? [] : urlFaults(issuerUrl)),
    ...required.faults,
    ...algorithms.filter((name) => !ALGORITHMS.includes(name)).map(unknownAlgorithm),
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
        prefix: usernamePrefix(flags.usernamePrefix ?? "", usernameClaim, issuerUrl),
      },
      ...(groupsClaim === "" ? {} : { groups: { claim: groupsClaim, prefix: flags.groupsPrefix ?? "" } }),
    },
  };
  return { kind: "entry", entry, notes: notesOn(entry, algorithms) };
}

/** With a file every one of these is taken, if it is signed with a key that the issuer publishes. */
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

/** None by `-`; without the flag the issuer keeps the names of one apart from those of others, but for addresses of mail. */
function usernamePrefix(given: string, claim: string, issuerUrl: string): string {
  if (given === "-") return "";
  return given === "" && claim !== "email" ? `${issuerUrl}#` : given;
}

function missing(name: string, value: string): FlagFault[] {
  return value === ""
    ? [{ name, message: "is missing: kube-apiserver needs it with any --oidc-* flag" }]
    : [];
}

function urlFaults(url: string): FlagFault[] {
  const fault = issuerUrlFault(url);
  return fault === undefined ? [] : [{ name: "--oidc-issuer-url", message: fault }];
}

function unknownAlgorithm(name: string): FlagFault {
  return {
    name: "--oidc-signing-algs",
    message: `${JSON.stringify(name)} is none of ${ALGORITHMS.join(", ")}`,
  };
}

interface RequiredClaims {
  readonly claims: readonly { readonly claim: string; readonly requiredValue: string }[];
  readonly faults: readonly FlagFault[];
}

/** Blanks around claim and value do not count, and of two values of one claim the last does. */
function requiredClaims(pairs: readonly string[]): RequiredClaims {
  const values = new Map<string, string>();
  const faults: FlagFault[] = [];
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

function notesOn({ claimMappings }: JwtAuthenticator, algorithms: readonly string[]): string[] {
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

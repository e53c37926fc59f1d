import { describe, expect, test } from "vitest";
import { type OidcFlags, translateOidcFlags } from "#core/authentication/oidc-flags.ts";

const ISSUER = "https://idp.example.com";
const GIVEN: OidcFlags = { issuerUrl: ISSUER, clientId: "kubernetes", signingAlgs: ["RS256"] };

const entryOf = (flags: OidcFlags) => {
  const translated = translateOidcFlags({ ...GIVEN, ...flags });
  if (translated.kind === "faults") throw new Error(JSON.stringify(translated.faults));
  return translated.entry;
};

describe("the user name", () => {
  const rows: readonly [given: string, flags: OidcFlags, claim: string, prefix: string][] = [
    ["no flag", {}, "sub", `${ISSUER}#`],
    ["an empty prefix", { usernamePrefix: "" }, "sub", `${ISSUER}#`],
    ["another claim", { usernameClaim: "upn" }, "upn", `${ISSUER}#`],
    ["email", { usernameClaim: "email" }, "email", ""],
    ["email and an empty prefix", { usernameClaim: "email", usernamePrefix: "" }, "email", ""],
    ["email and a prefix", { usernameClaim: "email", usernamePrefix: "oidc:" }, "email", "oidc:"],
    ['the prefix "-"', { usernamePrefix: "-" }, "sub", ""],
    ['email and the prefix "-"', { usernameClaim: "email", usernamePrefix: "-" }, "email", ""],
    ["a prefix", { usernamePrefix: "oidc:" }, "sub", "oidc:"],
    ['the prefix "--"', { usernamePrefix: "--" }, "sub", "--"],
  ];
  test.each(rows)("follows from %s", (_, flags, claim, prefix) => {
    expect(entryOf(flags).claimMappings).toEqual({ username: { claim, prefix } });
  });
});

test.each<[string, OidcFlags, unknown]>([
  ["no claim", { groupsPrefix: "oidc:" }, undefined],
  ["an empty claim", { groupsClaim: "" }, undefined],
  ["a claim", { groupsClaim: "groups" }, { claim: "groups", prefix: "" }],
  ["both", { groupsClaim: "groups", groupsPrefix: "-" }, { claim: "groups", prefix: "-" }],
])("groups follow from %s", (_, flags, groups) => {
  expect(entryOf(flags).claimMappings.groups).toEqual(groups);
});

test("the last value of a required claim wins, without surrounding blanks", () => {
  const requiredClaim = ["hd=a", " team = b=c ", "hd=d,e", "none="];
  expect(entryOf({ requiredClaim }).claimValidationRules).toEqual([
    { claim: "hd", requiredValue: "d,e" },
    { claim: "team", requiredValue: "b=c" },
    { claim: "none", requiredValue: "" },
  ]);
  expect(entryOf({})).not.toHaveProperty("claimValidationRules");
});

test("issuer, audience and authority come from the flags", () => {
  expect(entryOf({ certificateAuthority: "PEM" }).issuer).toEqual({
    url: ISSUER,
    certificateAuthority: "PEM",
    audiences: ["kubernetes"],
  });
  expect(entryOf({ certificateAuthority: "" }).issuer).not.toHaveProperty("certificateAuthority");
});

describe("notes for the operator", () => {
  const ALL = "RS256,RS384,RS512,ES256,ES384,ES512,PS256,PS384,PS512";
  test.each<[string, OidcFlags, readonly RegExp[]]>([
    ["about fewer algorithms than all", {}, [/RS256 has no equivalent/]],
    ["about default algorithms", { signingAlgs: undefined }, [/RS256 has no equivalent/]],
    ["none with all algorithms", { signingAlgs: [ALL] }, []],
    ["about users without a prefix", { signingAlgs: [ALL], usernamePrefix: "-" }, [/system:masters/]],
    ["about groups without a prefix", { signingAlgs: [ALL], groupsClaim: "g" }, [/system:masters/]],
    ["none for groups with a prefix", { signingAlgs: [ALL], groupsClaim: "g", groupsPrefix: "p:" }, []],
  ])("%s", (_, flags, notes) => {
    const translated = translateOidcFlags({ ...GIVEN, ...flags });
    expect("notes" in translated && translated.notes).toEqual(
      notes.map((note) => expect.stringMatching(note)),
    );
  });
});

test.each<[string, OidcFlags, readonly string[]]>([
  [
    "no issuer and no client",
    { issuerUrl: undefined, clientId: "" },
    ["--oidc-issuer-url", "--oidc-client-id"],
  ],
  ["an empty claim of the user", { usernameClaim: "" }, ["--oidc-username-claim"]],
  ["an issuer over http", { issuerUrl: "http://idp.example.com" }, ["--oidc-issuer-url"]],
  [
    "required claims that are not pairs",
    { requiredClaim: ["hd", "=a", "x=y"] },
    ["--oidc-required-claim", "--oidc-required-claim"],
  ],
  [
    "an invalid algorithm",
    { signingAlgs: ["RS256,none", "HS256"] },
    ["--oidc-signing-algs", "--oidc-signing-algs"],
  ],
])("kube-apiserver would not start with %s, and the translation fails", (_, flags, names) => {
  const translated = translateOidcFlags({ ...GIVEN, ...flags });
  expect(translated.kind === "faults" && translated.faults.map(({ name }) => name)).toEqual(names);
});

import { describe, expect, test } from "vitest";
import { AuthenticationConfiguration, type JwtAuthenticator } from "#core/authentication/configuration.ts";
import { configure, type DesiredIssuers, mergeTrust } from "#core/authentication/configure.ts";
import { buildAuthenticator, OUR_MESSAGE, type Trust } from "#core/authentication/trust.ts";

const NODE = { arn: "arn:aws:iam::111122223333:role/node", user: "serverless-ccm-node" };
const RELAY = { arn: "arn:aws:iam::111122223333:role/relay", user: "serverless-ccm-relay" };
const URL = "https://1234.tokens.sts.global.api.aws";
const TRUST: Trust = { issuer: { url: URL }, audiences: ["a"], roles: [NODE] };
const V1 = { minor: 36, apiVersion: "apiserver.config.k8s.io/v1" } as const;
const V1BETA1 = { minor: 33, apiVersion: "apiserver.config.k8s.io/v1beta1" } as const;

const OTHER: JwtAuthenticator = {
  issuer: { url: "https://idp.example.com", audiences: ["kubernetes"] },
  claimMappings: { username: { claim: "sub", prefix: "oidc:" } },
};

const fileOf = (...jwt: readonly object[]): AuthenticationConfiguration =>
  AuthenticationConfiguration.parse({ apiVersion: V1.apiVersion, kind: "AuthenticationConfiguration", jwt });

/** The resulting file, as JSON. */
function configured(existing: AuthenticationConfiguration | undefined, wanted: Partial<DesiredIssuers>) {
  const result = configure(existing, { server: V1, trusts: [], ...wanted });
  if (result.kind === "faults") throw new Error(JSON.stringify(result.faults));
  return structuredClone(result.configuration);
}

function faultsOf(existing: AuthenticationConfiguration | undefined, wanted: Partial<DesiredIssuers>) {
  const result = configure(existing, { server: V1, trusts: [], ...wanted });
  return result.kind === "faults" ? result.faults : [];
}

describe("a new file", () => {
  test("has an entry for each issuer, in the server's version", () => {
    const other = { ...TRUST, issuer: { url: `${URL}/2` }, audiences: ["a", "b"] };
    const file = configured(undefined, { server: V1BETA1, trusts: [TRUST, other], translated: OTHER });
    expect(file).toMatchObject({ apiVersion: V1BETA1.apiVersion, kind: "AuthenticationConfiguration" });
    expect(file.jwt.map(({ issuer }) => issuer)).toEqual([
      OTHER.issuer,
      { url: URL, audiences: ["a"] },
      { url: `${URL}/2`, audiences: ["a", "b"], audienceMatchPolicy: "MatchAny" },
    ]);
  });

  test("contains only the settings that an issuer has", () => {
    const issuer = {
      url: URL,
      discoveryURL: `${URL}/d`,
      certificateAuthority: "PEM",
      egressSelectorType: "cluster",
    } as const;
    const [entry] = configured(undefined, { trusts: [{ ...TRUST, issuer, maxLifetimeSeconds: 900 }] }).jwt;
    expect(entry).toMatchObject({ issuer: { ...issuer, audiences: ["a"] } });
    expect(JSON.stringify(entry)).toContain("claims.exp - claims.iat <= 900");
  });

  test("maps roles to users, and escapes quotes in a role", () => {
    const quoted = { arn: "arn:aws:iam::111122223333:role/'] || true || ['/x", user: "serverless-ccm-csr" };
    const entry = buildAuthenticator({ ...TRUST, roles: [quoted] });
    expect(entry.claimMappings.username).toEqual({
      expression: String.raw`{
  'arn:aws:iam::111122223333:role/\'] || true || [\'/x': 'serverless-ccm-csr'
}[claims.sub]`,
    });
    expect(entry.claimValidationRules?.[0]).toMatchObject({
      expression: String.raw`claims.sub in [
  'arn:aws:iam::111122223333:role/\'] || true || [\'/x'
]`,
    });
  });
});

describe("merging", () => {
  test("into a file without our entry keeps known and unknown keys", () => {
    const strange = { ...OTHER, issuer: { ...OTHER.issuer, future: [1] } };
    const before = { ...fileOf(strange), anonymous: { enabled: false } };
    expect(configured(before, { trusts: [TRUST] })).toEqual({
      ...before,
      jwt: [strange, buildAuthenticator(TRUST)],
    });
  });

  test.each([undefined, null, []])("into a file whose list is %j creates the list", (jwt) => {
    const before = AuthenticationConfiguration.parse({ ...fileOf(), jwt });
    expect(configured(before, { trusts: [TRUST] }).jwt).toEqual([buildAuthenticator(TRUST)]);
  });

  const rows: readonly [what: string, before: Trust, given: Trust, after: Trust][] = [
    ["equal trust", TRUST, TRUST, TRUST],
    ["an audience", TRUST, { ...TRUST, audiences: ["b"] }, { ...TRUST, audiences: ["a", "b"] }],
    [
      "an audience that exists among several",
      { ...TRUST, audiences: ["a", "b"] },
      TRUST,
      { ...TRUST, audiences: ["a", "b"] },
    ],
    ["another role", TRUST, { ...TRUST, roles: [RELAY] }, { ...TRUST, roles: [NODE, RELAY] }],
    [
      "another role of a user that has one",
      TRUST,
      { ...TRUST, roles: [{ ...RELAY, user: NODE.user }] },
      { ...TRUST, roles: [NODE, { ...RELAY, user: NODE.user }] },
    ],
    ["no lifetime", { ...TRUST, maxLifetimeSeconds: 300 }, TRUST, { ...TRUST, maxLifetimeSeconds: 300 }],
    [
      "another lifetime",
      { ...TRUST, maxLifetimeSeconds: 300 },
      { ...TRUST, maxLifetimeSeconds: 600 },
      { ...TRUST, maxLifetimeSeconds: 600 },
    ],
    [
      "a discovery URL",
      TRUST,
      { ...TRUST, issuer: { url: URL, discoveryURL: "https://d" } },
      { ...TRUST, issuer: { url: URL, discoveryURL: "https://d" } },
    ],
    [
      "no certificate authority",
      { ...TRUST, issuer: { url: URL, certificateAuthority: "PEM" } },
      { ...TRUST, issuer: { url: URL, certificateAuthority: undefined } },
      { ...TRUST, issuer: { url: URL, certificateAuthority: "PEM" } },
    ],
  ];
  test.each(rows)(
    "into our entry is idempotent, and keeps existing settings: %s",
    (_, before, given, after) => {
      const once = configured(fileOf(OTHER, buildAuthenticator(before)), { trusts: [given] });
      expect(once.jwt).toEqual([OTHER, buildAuthenticator(after)]);
      expect(configured(AuthenticationConfiguration.parse(once), { trusts: [given] })).toEqual(once);
    },
  );

  test("keeps others' additions to our entry, and updates our rules", () => {
    const ours = buildAuthenticator(TRUST);
    const [roles, lifetime, audience] = ours.claimValidationRules ?? [];
    const theirs = { expression: "claims.sub != ''", message: "theirs" };
    const entry = {
      ...ours,
      claimValidationRules: [
        theirs,
        { claim: "aud", requiredValue: "a" },
        { ...lifetime, expression: "true" },
        { expression: "false", message: `${OUR_MESSAGE}an outdated rule` },
        { ...audience, message: "their words" },
        audience,
      ],
      claimMappings: { ...ours.claimMappings, groups: { expression: "['theirs']" }, uid: { claim: "jti" } },
      userValidationRules: null,
      future: 1,
    };
    expect(mergeTrust(entry, TRUST)).toEqual({
      kind: "merged",
      entry: {
        ...entry,
        claimValidationRules: [theirs, { claim: "aud", requiredValue: "a" }, lifetime, audience, roles],
        userValidationRules: ours.userValidationRules,
      },
    });
  });

  test("adds missing rules and groups to our entry", () => {
    const { issuer, claimMappings } = buildAuthenticator(TRUST);
    const bare = { issuer, claimMappings: { username: claimMappings.username } };
    expect(mergeTrust(bare, TRUST)).toEqual({ kind: "merged", entry: buildAuthenticator(TRUST) });
  });

  test.each<[string, object]>([
    ["a claim as the user", { ...OTHER, issuer: { ...OTHER.issuer, url: URL } }],
    [
      "another expression",
      { ...buildAuthenticator(TRUST), claimMappings: { username: { expression: "'aws:' + claims.sub" } } },
    ],
    [
      "a map that is indexed by another claim",
      { ...buildAuthenticator(TRUST), claimMappings: { username: { expression: "{'a': 'b'}[claims.jti]" } } },
    ],
    [
      "a map with a computed value",
      {
        ...buildAuthenticator(TRUST),
        claimMappings: { username: { expression: "{'a': claims.x}[claims.sub]" } },
      },
    ],
  ])("rejects an entry of our issuer with %s", (_, entry) => {
    expect(faultsOf(fileOf(OTHER, entry), { trusts: [TRUST] })).toEqual([
      { path: "jwt[1]", message: expect.stringMatching(/maps users in another way/) },
    ]);
  });

  test("rejects a role with two users", () => {
    const given = { ...TRUST, roles: [{ ...NODE, user: RELAY.user }] };
    expect(faultsOf(fileOf(buildAuthenticator(TRUST)), { trusts: [given] })).toEqual([
      {
        path: "jwt[0]",
        message: expect.stringMatching(/as the user serverless-ccm-node.*serverless-ccm-relay, too/),
      },
    ]);
  });

  test("accepts flags that are already translated, and rejects different ones", () => {
    expect(configured(fileOf(OTHER), { translated: OTHER }).jwt).toEqual([OTHER]);
    const other = { ...OTHER, issuer: { ...OTHER.issuer, audiences: ["else"] } };
    expect(faultsOf(fileOf(OTHER), { translated: other })).toEqual([
      { path: "jwt[0]", message: expect.stringMatching(/--oidc-issuer-url/) },
    ]);
  });
});

describe("rejects, as kube-apiserver would,", () => {
  const entries = (count: number): readonly object[] =>
    Array.from({ length: count }, (_, index) => ({
      ...OTHER,
      issuer: { ...OTHER.issuer, url: `https://${index}` },
    }));

  test("more issuers than 64", () => {
    expect(configured(fileOf(...entries(63)), { trusts: [TRUST] }).jwt).toHaveLength(64);
    expect(faultsOf(fileOf(...entries(64)), { trusts: [TRUST] })).toEqual([
      { path: "jwt", message: expect.stringContaining("65 issuers") },
    ]);
  });

  test("an issuer or a discovery URL that occurs twice, all errors at once", () => {
    const at = { ...OTHER.issuer, discoveryURL: "https://d" };
    const twice = [
      { ...OTHER, issuer: at },
      { ...OTHER, issuer: { ...at, url: "https://x" } },
      { ...OTHER, issuer: { ...OTHER.issuer, discoveryURL: null } },
    ];
    expect(faultsOf(fileOf(...twice), { trusts: [TRUST, TRUST] }).map(({ path }) => path)).toEqual([
      "jwt[2].issuer.url",
      "jwt[4].issuer.url",
      "jwt[1].issuer.discoveryURL",
    ]);
  });

  test("an egress selector before 1.34", () => {
    const trust = { ...TRUST, issuer: { url: URL, egressSelectorType: "controlplane" as const } };
    expect(configured(undefined, { trusts: [trust] }).jwt).toHaveLength(1);
    expect(faultsOf(undefined, { server: V1BETA1, trusts: [trust] })).toEqual([
      { path: "jwt[0].issuer.egressSelectorType", message: expect.stringContaining("1.34") },
    ]);
  });
});

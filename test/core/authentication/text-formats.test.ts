import { describe, expect, test } from "vitest";
import { getApiVersion, listUnknownKeys } from "#core/authentication/configuration.ts";
import {
  checkAudience,
  checkIssuerUrl,
  formatAudience,
  formatCelList,
  formatCelMap,
  formatCelString,
  isSessionArn,
  parseRoleArn,
  readCelMap,
} from "#core/authentication/trust.ts";

describe("text in CEL", () => {
  test.each([
    ["plain", "'plain'"],
    ["it's", String.raw`'it\'s'`],
    [String.raw`a\b`, String.raw`'a\\b'`],
    ["'] || true || ['", String.raw`'\'] || true || [\''`],
    ["a\nb\u2028\u007f", String.raw`'a\u000ab\u2028\u007f'`],
  ])("%j is a literal that evaluates to exactly this text", (text, literal) => {
    expect(formatCelString(text)).toBe(literal);
  });

  test("writes lists and maps with one line per item", () => {
    expect(formatCelList(["a", "b"])).toBe("[\n  'a',\n  'b'\n]");
    expect(
      formatCelMap([
        ["a", "x"],
        ["b", "y"],
      ]),
    ).toBe("{\n  'a': 'x',\n  'b': 'y'\n}");
  });

  const read: readonly [text: string, pairs: readonly (readonly [string, string])[] | undefined][] = [
    [
      formatCelMap([
        ["it's", "x"],
        [String.raw`\'`, "y"],
      ]),
      [
        ["it's", "x"],
        [String.raw`\'`, "y"],
      ],
    ],
    ["{}", []],
    [
      " { 'a' : 'b' ,'c':'d', } ",
      [
        ["a", "b"],
        ["c", "d"],
      ],
    ],
    ["{'a': 'b'", undefined],
    ["{'a': 'b' 'c': 'd'}", undefined],
    ["{'a': 'b'}, {'c': 'd'}", undefined],
    ["{'a': claims.sub}", undefined],
    [String.raw`{'a\u0041': 'b'}`, undefined],
    [String.raw`{'a': '\n'}`, undefined],
    ['{"a": "b"}', undefined],
    ["{'a': 'b' + 'c'}", undefined],
  ];
  test.each(read)("%j is parsed exactly, or rejected", (text, pairs) => {
    expect(readCelMap(text)).toEqual(pairs);
  });
});

test.each([
  ["arn:aws:iam::111122223333:role/node", { partition: "aws", account: "111122223333" }],
  [
    "arn:aws-us-gov:iam::111122223333:role/a/b/n+=,.@-_",
    { partition: "aws-us-gov", account: "111122223333" },
  ],
  ["arn:aws:iam::111122223333:role/it's\"\\/node", { partition: "aws", account: "111122223333" }],
  ["arn:aws:iam::111122223333:role/it's", undefined],
  ["arn:aws:iam::111122223333:role/", undefined],
  ["arn:aws:iam::111122223333:role/node\n", undefined],
  ["arn:aws:iam::111122223333:role/a b/node", undefined],
  ["arn:aws:iam::11112222333:role/node", undefined],
  ["arn:aws:iam::111122223333:user/node", undefined],
  ["arn:aws:sts::111122223333:assumed-role/node/session", undefined],
  ["system:masters", undefined],
])("%j is parsed as a role, or rejected", (text, role) => {
  expect(parseRoleArn(text)).toEqual(role);
  expect(isSessionArn(text)).toBe(text.includes("assumed-role"));
});

test.each([
  ["https://idp.example.com", undefined],
  ["HTTPS://idp.example.com:8443/realms/a/", undefined],
  ["http://idp.example.com", /https/],
  ["https://", /https/],
  ["https:///path", /https/],
  ["idp.example.com", /https/],
  ["https://user@idp.example.com", /user name/],
  ["https://idp.example.com?a", /query/],
  ["https://idp.example.com/#a", /fragment/],
  ["https://idp.example.com/a b", /blanks/],
])("%j is accepted as an issuer's URL, or rejected with a reason", (url, fault) => {
  if (fault === undefined) expect(checkIssuerUrl(url)).toBeUndefined();
  else expect(checkIssuerUrl(url)).toMatch(fault);
});

test.each([
  [formatAudience("tenant-a"), undefined],
  ["", /empty/],
  ["a".repeat(1_001), /longer/],
  ["a\u0000", /control/],
  ["a b", /blanks/],
])("%j is accepted as an audience, or rejected with a reason", (text, fault) => {
  if (fault === undefined) expect(checkAudience(text)).toBeUndefined();
  else expect(checkAudience(text)).toMatch(fault);
});

test.each([
  [29, undefined],
  [30, "apiserver.config.k8s.io/v1beta1"],
  [33, "apiserver.config.k8s.io/v1beta1"],
  [34, "apiserver.config.k8s.io/v1"],
  [37, "apiserver.config.k8s.io/v1"],
])("kube-apiserver 1.%i accepts the file as %s", (minor, version) => {
  expect(getApiVersion(minor)).toBe(version);
});

test("finds unknown keys at every level", () => {
  const found = listUnknownKeys({
    apiVersion: "v1",
    constructor: 1,
    anonymous: { enabled: true, conditions: [{ path: "/livez", verb: "get" }] },
    jwt: [
      {
        issuer: { url: "u", audiences: [{ anything: 1 }] },
        claimMappings: null,
        userValidationRules: "text",
      },
      { issuer: { uri: "u" }, claimMappings: { username: { claim: "sub", suffix: "" } } },
    ],
  });
  expect(found).toEqual([
    ["constructor"],
    ["anonymous", "conditions", 0, "verb"],
    ["jwt", 1, "issuer", "uri"],
    ["jwt", 1, "claimMappings", "username", "suffix"],
  ]);
});

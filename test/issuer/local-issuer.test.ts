import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildAwsClaims } from "#test/issuer/aws-claims.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";

const ROLE = "arn:aws:iam::111122223333:role/serverless-ccm-node";

describe("an issuer", () => {
  let issuer: LocalIssuer;
  beforeAll(async () => {
    issuer = await startIssuer({ issuer: "https://1234.tokens.sts.global.api.aws" });
  });
  afterAll(() => issuer.close());

  test.each(["RS256", "ES384"] as const)(
    "signs by %s so that its published keys verify the token",
    async (algorithm) => {
      const token = issuer.sign(buildAwsClaims({ roleArn: ROLE, audiences: ["a"] }), { algorithm });
      expect(await isSigned(issuer, token)).toBe(true);
      expect(claimsOf(token)).toMatchObject({
        iss: "https://1234.tokens.sts.global.api.aws",
        sub: ROLE,
        aud: "a",
        "https://sts.amazonaws.com/": { aws_account: "111122223333" },
      });
      expect(await isSigned(issuer, issuer.sign({}, { algorithm, forged: true }))).toBe(false);
    },
  );

  test("writes several audiences as a list, and a caller's claims override its own", () => {
    const claims = { ...buildAwsClaims({ roleArn: ROLE, audiences: ["a", "b"] }), exp: 7, jti: undefined };
    const said = claimsOf(issuer.sign(claims));
    expect(said).toMatchObject({ aud: ["a", "b"], exp: 7 });
    expect(said).not.toHaveProperty("jti");
  });

  test("rejects old tokens after its keys have changed", async () => {
    const token = issuer.sign({});
    expect(await isSigned(issuer, token)).toBe(true);
    issuer.rotateKeys();
    expect(await isSigned(issuer, token)).toBe(false);
    expect(await isSigned(issuer, issuer.sign({}))).toBe(true);
  });
});

async function isSigned(issuer: LocalIssuer, token: string): Promise<boolean> {
  const [head = "", body = "", signature = ""] = token.split(".");
  const { alg, kid } = JSON.parse(Buffer.from(head, "base64url").toString());
  const { jwks_uri } = (await read(issuer, issuer.discoveryUrl)) as { jwks_uri: string };
  const { keys } = (await read(issuer, jwks_uri)) as { keys: (JsonWebKey & { kid: string })[] };
  const jwk = keys.find((each) => each.kid === kid);
  if (jwk === undefined) return false;
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const [hash, how] =
    alg === "RS256" ? ["sha256", key] : ["sha384", { key, dsaEncoding: "ieee-p1363" as const }];
  return verify(hash as string, Buffer.from(`${head}.${body}`), how, Buffer.from(signature, "base64url"));
}

function read(issuer: LocalIssuer, url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(url, { ca: issuer.certificateAuthority }, (response) => {
      text(response).then((body) => resolve(JSON.parse(body)), reject);
    }).on("error", reject);
  });
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

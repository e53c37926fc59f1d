import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer as createPlainServer, type RequestListener, type Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import {
  type Authentication,
  createAuthentication,
  type OidcOptions,
} from "#platforms/http/authentication.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, certificate: undefined });

describe("a bearer token", () => {
  test.each<[string, string | undefined, Authentication["kind"]]>([
    ["the first one", "Bearer one", "allowed"],
    ["the second one", "Bearer two", "allowed"],
    ["a scheme in another spelling", "bearer one", "allowed"],
    ["another one", "Bearer three", "unauthenticated"],
    ["the beginning of one", "Bearer on", "unauthenticated"],
    ["two in one", "Bearer one two", "unauthenticated"],
    ["an empty one", "Bearer ", "unauthenticated"],
    ["another scheme", "Basic one", "unauthenticated"],
    ["none", undefined, "unauthenticated"],
  ])("%s: %s is %s", async (_, authorization, kind) => {
    const authenticate = createAuthentication({ readTokens: async () => ["one", "two"] });
    expect(await authenticate({ authorization, certificate: undefined })).toMatchObject({ kind });
  });

  test("counts as soon as it is read again, and no longer than it is there", async () => {
    let tokens = ["old"];
    let nowMs = 0;
    const authenticate = createAuthentication({ readTokens: async () => tokens, now: () => nowMs });
    const kinds = async () =>
      Promise.all(["old", "new"].map(async (token) => (await authenticate(bearer(token))).kind));
    expect(await kinds()).toEqual(["allowed", "unauthenticated"]);
    tokens = ["old", "new"];
    nowMs += 6_000;
    expect(await kinds()).toEqual(["allowed", "allowed"]);
    tokens = ["new"];
    nowMs += 6_000;
    expect(await kinds()).toEqual(["unauthenticated", "allowed"]);
  });

  test("is refused while no token can be read", async () => {
    const readTokens = () => Promise.reject(new Error("/etc/token cannot be read"));
    const result = await createAuthentication({ readTokens })(bearer("one"));
    expect(result).toEqual({ kind: "unauthenticated", message: expect.stringContaining("cannot be read") });
    expect(JSON.stringify(result)).not.toContain("/etc/token");
  });
});

describe("a client certificate", () => {
  test.each<[string, Authentication["kind"]]>([
    ["relay", "allowed"],
    ["other", "forbidden"],
    ["relay,other", "forbidden"],
    ["xrelay", "forbidden"],
  ])("of %s is %s", async (name, kind) => {
    const authority = await createCertificateAuthority();
    const { certificate } = await authority.issueClient({ name, groups: ["relay-group"] });
    const authenticate = createAuthentication({ clientSubjects: ["relay", "URI:spiffe://x/relay"] });
    const der = new X509Certificate(certificate).raw;
    expect(await authenticate({ authorization: undefined, certificate: der })).toMatchObject({ kind });
  });

  test("is allowed by a DNS name, too", async () => {
    const authority = await createCertificateAuthority();
    const { certificate } = await authority.issueServer(["relay.example"]);
    const der = new X509Certificate(certificate).raw;
    const by = (subject: string) =>
      createAuthentication({ clientSubjects: [subject] })({ authorization: undefined, certificate: der });
    expect(await by("DNS:relay.example")).toMatchObject({ kind: "allowed" });
    expect(await by("relay.example")).toMatchObject({ kind: "forbidden" });
  });

  test("is not asked for where only tokens count, and a token helps an unknown one", async () => {
    const authority = await createCertificateAuthority();
    const { certificate } = await authority.issueClient({ name: "other", groups: [] });
    const der = new X509Certificate(certificate).raw;
    const readTokens = async () => ["one"];
    const alone = createAuthentication({ readTokens });
    expect(await alone({ authorization: undefined, certificate: der })).toMatchObject({
      kind: "unauthenticated",
    });
    const both = createAuthentication({ readTokens, clientSubjects: ["relay"] });
    expect(await both({ authorization: "Bearer one", certificate: der })).toMatchObject({ kind: "allowed" });
    expect(await both({ authorization: "Bearer two", certificate: der })).toMatchObject({
      kind: "forbidden",
    });
  });
});

describe("an ID token", () => {
  let issuer: LocalIssuer;
  beforeAll(async () => {
    issuer = await startIssuer();
  });
  afterAll(() => issuer.close());

  const options = (difference: Partial<OidcOptions> = {}): { readonly oidc: OidcOptions } => ({
    oidc: {
      issuer: issuer.issuer,
      audience: "serverless-ccm",
      subjects: ["relay"],
      certificateAuthority: issuer.certificateAuthority,
      ...difference,
    },
  });
  const seconds = () => Math.floor(Date.now() / 1_000);
  const CLAIMS = { aud: "serverless-ccm", sub: "relay" };

  test.each<[string, () => string, Authentication["kind"], RegExp | undefined]>([
    ["that is valid", () => issuer.sign(CLAIMS), "allowed", undefined],
    ["signed by a curve", () => issuer.sign(CLAIMS, { algorithm: "ES384" }), "allowed", undefined],
    [
      "for several audiences",
      () => issuer.sign({ ...CLAIMS, aud: ["x", "serverless-ccm"] }),
      "allowed",
      undefined,
    ],
    ["for another audience", () => issuer.sign({ ...CLAIMS, aud: "other" }), "unauthenticated", /"aud"/],
    ["without an audience", () => issuer.sign({ ...CLAIMS, aud: undefined }), "unauthenticated", /"aud"/],
    [
      "of another issuer",
      () => issuer.sign({ ...CLAIMS, iss: "https://issuer.example.com" }),
      "unauthenticated",
      /"iss"/,
    ],
    ["of another subject", () => issuer.sign({ ...CLAIMS, sub: "other" }), "forbidden", /subject/],
    ["without a subject", () => issuer.sign({ ...CLAIMS, sub: undefined }), "unauthenticated", /"sub"/],
    ["that has expired", () => issuer.sign({ ...CLAIMS, exp: seconds() - 60 }), "unauthenticated", /expired/],
    ["that never expires", () => issuer.sign({ ...CLAIMS, exp: undefined }), "unauthenticated", /"exp"/],
    [
      "that is not valid yet",
      () => issuer.sign({ ...CLAIMS, nbf: seconds() + 600 }),
      "unauthenticated",
      /"nbf"/,
    ],
    ["that is forged", () => issuer.sign(CLAIMS, { forged: true }), "unauthenticated", /neither/],
    ["that is not signed", () => issuer.sign(CLAIMS, { algorithm: "none" }), "unauthenticated", /neither/],
    ["that is a text", () => "some-token", "unauthenticated", /neither/],
    [
      "that is changed",
      () =>
        issuer
          .sign(CLAIMS)
          .replace(
            /\..*\./,
            `.${Buffer.from(JSON.stringify({ ...CLAIMS, iss: issuer.issuer, exp: 9e9 })).toString("base64url")}.`,
          ),
      "unauthenticated",
      /neither/,
    ],
  ])("%s is %4$s", async (_, sign, kind, words) => {
    const token = sign();
    const result = await createAuthentication(options())(bearer(token));
    expect(result.kind).toBe(kind);
    if (result.kind === "allowed") return;
    expect(result.message).toMatch(words ?? /^$/);
    expect(result.message).not.toContain(token.slice(0, 20));
  });

  test("is checked by keys that are read once, and again for a key that is unknown", async () => {
    const own = await startIssuer();
    try {
      let nowMs = Date.now();
      const authenticate = createAuthentication({
        ...options({ issuer: own.issuer, certificateAuthority: own.certificateAuthority }),
        now: () => nowMs,
      });
      for (let count = 0; count < 5; count += 1)
        expect(await authenticate(bearer(own.sign(CLAIMS)))).toMatchObject({ kind: "allowed" });
      expect(own.asked()).toEqual(["/.well-known/openid-configuration", "/.well-known/jwks.json"]);
      own.rotateKeys();
      // Unknown keys cost the issuer no request for a while.
      for (let count = 0; count < 20; count += 1) await authenticate(bearer(own.sign(CLAIMS)));
      expect(own.asked().length).toBeLessThanOrEqual(3);
      // Discovery is old by now, and with it the keys.
      nowMs += 61 * 60_000;
      const late = { ...CLAIMS, iat: Math.floor(nowMs / 1_000), exp: Math.floor(nowMs / 1_000) + 300 };
      expect(await authenticate(bearer(own.sign(late)))).toMatchObject({ kind: "allowed" });
    } finally {
      await own.close();
    }
  });

  test("is refused, and a known token is not, while the issuer is away", async () => {
    const own = await startIssuer();
    const oidc = options({ issuer: own.issuer, certificateAuthority: own.certificateAuthority });
    await own.close();
    const authenticate = createAuthentication({ ...oidc, readTokens: async () => ["one"] });
    expect(await authenticate(bearer(own.sign(CLAIMS)))).toEqual({
      kind: "unauthenticated",
      message: expect.stringContaining("keys cannot be read"),
    });
    expect(await authenticate(bearer("one"))).toEqual({ kind: "allowed" });
  });

  test("is refused where the issuer's certificate is of an unknown authority", async () => {
    const authenticate = createAuthentication(options({ certificateAuthority: undefined }));
    expect(await authenticate(bearer(issuer.sign(CLAIMS)))).toMatchObject({ kind: "unauthenticated" });
  });
});

describe("an issuer", () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  /** A server, and the paths that were asked of it. */
  async function listen(
    server: Server,
    scheme: string,
  ): Promise<{ readonly url: string; readonly paths: (string | undefined)[] }> {
    const paths: (string | undefined)[] = [];
    server.on("request", ({ url }) => paths.push(url));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return { url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
  }

  let pouredBytes = 0;

  test.each<[string, (url: string, plainUrl: string) => RequestListener]>([
    ["redirects", (url) => (_, response) => response.writeHead(302, { location: `${url}/elsewhere` }).end()],
    [
      "is another one",
      (url) => (_, response) =>
        response.end(JSON.stringify({ issuer: "https://x", jwks_uri: `${url}/keys` })),
    ],
    [
      "has its keys over plain http",
      (url, plainUrl) => (_, response) =>
        response.end(JSON.stringify({ issuer: url, jwks_uri: `${plainUrl}/keys` })),
    ],
    [
      "answers without an end",
      () => (_, response) => {
        response.writeHead(200);
        const pour = (): void => {
          do pouredBytes += 65_536;
          while (!response.destroyed && response.write(" ".repeat(65_536)));
        };
        response.on("drain", pour);
        pour();
      },
    ],
    ["answers no JSON", () => (_, response) => response.end("<html>")],
    ["fails", () => (_, response) => response.writeHead(500).end("{}")],
  ])("that %s confirms no token, and is asked nothing else", async (_, listenerFor) => {
    pouredBytes = 0;
    const authority = await createCertificateAuthority();
    const { certificate: cert, key } = await authority.issueServer();
    const plain = await listen(
      createPlainServer((_request, response) => response.end("{}")),
      "http",
    );
    let listener: RequestListener = () => undefined;
    const server = createServer({ cert, key }, (request, response) => listener(request, response));
    const { url, paths } = await listen(server, "https");
    listener = listenerFor(url, plain.url);
    const oidc = { issuer: url, audience: "a", subjects: ["s"], certificateAuthority: authority.certificate };
    const other = await startIssuer();
    const token = other.sign({ iss: url, aud: "a", sub: "s" });
    await other.close();
    expect(await createAuthentication({ oidc })(bearer(token))).toEqual({
      kind: "unauthenticated",
      message: expect.stringContaining("keys cannot be read"),
    });
    expect([paths, plain.paths]).toEqual([["/.well-known/openid-configuration"], []]);
    expect(pouredBytes).toBeLessThan(20_000_000);
  });
});

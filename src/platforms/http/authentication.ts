import { createHash, timingSafeEqual, X509Certificate } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { Agent, request } from "undici";
import * as z from "zod";
import { keepFresh } from "#platforms/keep-fresh.ts";

/** What a request shows of its caller. */
export interface Credentials {
  /** The value of the `authorization` header. */
  readonly authorization: string | undefined;
  /** DER of a client certificate that the TLS handshake has verified. */
  readonly certificate: Buffer | undefined;
}

/** Whether a caller may invoke functions; `message` says why not, and quotes nothing of a credential. */
export type Authentication =
  | { readonly kind: "allowed" }
  | { readonly kind: "unauthenticated" | "forbidden"; readonly message: string };

/** Authenticates a caller. Never rejects. */
export type Authenticate = (credentials: Credentials) => Promise<Authentication>;

/** The ways to authenticate; at least one. A caller needs one of them. */
export interface AuthenticationOptions {
  /** Reads the bearer tokens that are valid now; two while one replaces the other. */
  readonly readTokens?: (() => Promise<readonly string[]>) | undefined;
  readonly oidc?: OidcOptions | undefined;
  /** Subjects of client certificates: a common name, `DNS:name` or `URI:uri`. */
  readonly clientSubjects?: readonly string[] | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** The ID tokens of one OpenID Connect issuer. */
export interface OidcOptions {
  /** The issuer's https URL, exactly as in the tokens. */
  readonly issuer: string;
  readonly audience: string;
  /** The subjects that may invoke functions. */
  readonly subjects: readonly string[];
  /** PEM of the authority of the issuer's certificate. Default: the system's authorities. */
  readonly certificateAuthority?: string | undefined;
}

/** A token file is read again after this time, so that a rotated token counts soon. */
const TOKENS_AGE_MS = 5_000;

const NO_CREDENTIALS: Authentication = {
  kind: "unauthenticated",
  message: "the request has no credential; send a bearer token or a client certificate",
};

/** Creates the authentication of callers. */
export function createAuthentication(options: AuthenticationOptions): Authenticate {
  const { readTokens, oidc, clientSubjects } = options;
  const tokens =
    readTokens &&
    keepFresh(async () => ({ value: (await readTokens()).map(digest) }), {
      maxAgeMs: TOKENS_AGE_MS,
      ...(options.now === undefined ? {} : { now: options.now }),
    });
  const verifyIdToken = oidc && createIdTokenVerifier(oidc, options.now);
  return async ({ authorization, certificate }) => {
    const [, token] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "") ?? [];
    const results: Authentication[] = [];
    if (certificate !== undefined && clientSubjects !== undefined)
      results.push(checkCertificate(certificate, clientSubjects));
    if (token !== undefined && tokens !== undefined) {
      const known = await tokens.get().catch(() => undefined);
      results.push(checkToken(token, known));
    }
    if (token !== undefined && verifyIdToken !== undefined && !results.some(isAllowed))
      results.push(await verifyIdToken(token));
    return (
      results.find(isAllowed) ??
      results.find(({ kind }) => kind === "forbidden") ??
      results.at(-1) ??
      NO_CREDENTIALS
    );
  };
}

const ALLOWED: Authentication = { kind: "allowed" };

function isAllowed({ kind }: Authentication): boolean {
  return kind === "allowed";
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Compares with every token, so that the time says nothing about them. */
function checkToken(token: string, known: readonly Buffer[] | undefined): Authentication {
  if (known === undefined || known.length === 0)
    return { kind: "unauthenticated", message: "the server's tokens cannot be read; see its log" };
  const sent = digest(token);
  const matches = known.map((each) => timingSafeEqual(each, sent));
  return matches.includes(true)
    ? ALLOWED
    : { kind: "unauthenticated", message: "the bearer token is not valid" };
}

/** The certificate is of the configured authority, or it would not be here. */
function checkCertificate(der: Buffer, allowed: readonly string[]): Authentication {
  const { subject, subjectAltName = "" } = new X509Certificate(der);
  const commonNames = subject.split("\n").flatMap((line) => (line.startsWith("CN=") ? line.slice(3) : []));
  // Node quotes names with commas, which then equal no allowed subject.
  const names = [...commonNames, ...subjectAltName.split(", ")];
  if (names.some((name) => allowed.includes(name))) return ALLOWED;
  return { kind: "forbidden", message: "no subject of the client certificate is allowed" };
}

/** Limits of the issuer's documents. */
const MAX_DOCUMENT_BYTES = 256 * 1024;
const DOCUMENT_TIMEOUT_MS = 5_000;
/** Keys are read again at this age, and for an unknown key at most this often. */
const KEYS_AGE_MS = 10 * 60_000;
const KEYS_COOL_DOWN_MS = 30_000;
/** The discovery document is read again at this age. */
const DISCOVERY_AGE_MS = 60 * 60_000;
const CLOCK_TOLERANCE_SECONDS = 30;

/** Signatures by public keys alone: with a shared secret, a public key could be taken for the secret. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });

function createIdTokenVerifier(
  { issuer, audience, subjects, certificateAuthority: ca }: OidcOptions,
  now: () => number = Date.now,
): (token: string) => Promise<Authentication> {
  const agent = new Agent({
    allowH2: false,
    // No connection stays open between reads.
    pipelining: 0,
    maxResponseSize: MAX_DOCUMENT_BYTES,
    connect: { timeout: DOCUMENT_TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) },
  });
  const keys = keepFresh<JWTVerifyGetKey>(async () => ({ value: await discover(issuer, agent) }), {
    maxAgeMs: DISCOVERY_AGE_MS,
    now,
  });
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, await keys.get(), {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ["exp", "sub"],
        currentDate: new Date(now()),
      });
      if (payload.sub !== undefined && subjects.includes(payload.sub)) return ALLOWED;
      return { kind: "forbidden", message: "the subject of the ID token is not allowed" };
    } catch (error) {
      return { kind: "unauthenticated", message: describeTokenError(error) };
    }
  };
}

/** Reads the issuer's discovery document. Rejects unless it is the issuer's own and its keys have an https URL. */
async function discover(issuer: string, agent: Agent): Promise<JWTVerifyGetKey> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const document = Discovery.parse(await (await fetchDocument(url, agent)).json());
  if (document.issuer !== issuer) throw new Error("the discovery document names another issuer");
  return createRemoteJWKSet(new URL(document.jwks_uri), {
    cacheMaxAge: KEYS_AGE_MS,
    cooldownDuration: KEYS_COOL_DOWN_MS,
    timeoutDuration: DOCUMENT_TIMEOUT_MS,
    [customFetch]: (keysUrl) => fetchDocument(keysUrl, agent),
  });
}

/** Reads a document over https, without following redirects. */
async function fetchDocument(url: string, dispatcher: Agent): Promise<Response> {
  if (!url.startsWith("https:")) throw new Error("the issuer's documents are read over https alone");
  const signal = AbortSignal.timeout(DOCUMENT_TIMEOUT_MS);
  const { statusCode, body } = await request(url, {
    dispatcher,
    signal,
    headers: { accept: "application/json" },
  });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`the issuer answered ${statusCode}`);
  return new Response(text, { headers: { "content-type": "application/json" } });
}

/** jose's messages name claims and never quote the token; other errors are of the issuer's documents. */
function describeTokenError(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "the ID token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `the ID token is not valid: ${error.message}`;
  if (error instanceof errors.JWKSNoMatchingKey) return "no key of the issuer has signed the ID token";
  if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout))
    return "the token is neither a known one nor a valid ID token";
  return "the issuer's keys cannot be read, so no ID token can be verified";
}

import * as z from "zod";
import { parseJson } from "#core/parse-json.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Connects like `connect`, and explains a refused sign-in. For a 401 an API server answers only
 * "Unauthorized": here the message also names the token's owner, by the token's own claims, and what to do.
 * It contains nothing else of a token.
 */
export function connectExplained(options: ConnectOptions): Transport {
  const transport = connect(options);
  const { authorization, now = Date.now } = options;
  return {
    ...transport,
    async send(request) {
      const answer = await transport.send(request);
      if (answer.status !== 401) return answer;
      // The header that was just sent is cached, so nothing is requested again.
      const header = await authorization?.().catch(() => undefined);
      const said = Said.safeParse(parseJson(answer.body)).data?.message ?? "Unauthorized";
      const message = `${said}: ${explainRefusal(header, now())}`;
      const body = {
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        reason: "Unauthorized",
        code: 401,
        message,
      };
      return { ...answer, body: JSON.stringify(body) };
    },
  };
}

const Said = z.object({ message: z.string().max(100) });

/** Explains in one sentence why a header may have been refused, and what to do; `nowMs` since the epoch. */
export function explainRefusal(header: string | undefined, nowMs: number): string {
  if (header === undefined) return CERTIFICATE;
  const token = /^Bearer (\S+)$/.exec(header)?.[1];
  if (token?.startsWith("k8s-aws-v1.")) return EKS;
  const claims = token === undefined ? undefined : readClaims(token);
  if (claims === undefined) return OPAQUE;
  const expired = describeExpired(claims, nowMs);
  if (expired !== undefined) return expired;
  const { nbf, iat, exp, aud } = claims;
  const begin = nbf ?? iat;
  if (begin !== undefined && begin * 1_000 > nowMs + SKEW_MS)
    return `${describeToken(claims, nowMs)} is not valid before ${formatTime(begin)}: check the clocks of this machine and of the issuer`;
  const audiences = [aud ?? []].flat();
  const audience =
    audiences.length === 0 ? "" : `, and takes the audience ${sanitize(audiences.join(", "), 40)}`;
  const until = exp === undefined ? "does not end" : `holds until ${formatTime(exp)}`;
  return `${describeToken(claims, nowMs)} ${until}: see that the API server knows its issuer${audience}`;
}

/**
 * Returns the owner and the end of an expired token; undefined if the header is not such a token or has not
 * expired.
 */
export function findExpiredToken(header: string | undefined, nowMs: number): string | undefined {
  const token = /^Bearer (\S+)$/.exec(header ?? "")?.[1];
  const claims = token === undefined ? undefined : readClaims(token);
  return claims && describeExpired(claims, nowMs);
}

const CERTIFICATE =
  "it signs in with a client certificate: see that it has not ended, and that the API server's --client-ca-file is its issuer's";
const EKS =
  "it signs in with a token of EKS: see that the IAM role has an access entry in the cluster, and that clusterName is the cluster's in EKS";
const OPAQUE =
  "its token has no readable claims: check that it was issued for this API server, and that it was not revoked";
const SKEW_MS = 60_000;

const seconds = z.number().min(0).max(253_402_300_799).optional().catch(undefined);
/** The claims of a JSON web token (RFC 7519) that are shown; nothing of it is verified. */
const Claims = z.object({
  sub: z.string().optional().catch(undefined),
  iss: z.string().optional().catch(undefined),
  aud: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .catch(undefined),
  iat: seconds,
  nbf: seconds,
  exp: seconds,
});
type Claims = z.output<typeof Claims>;

function readClaims(token: string): Claims | undefined {
  const [, claims = "", signature] = token.split(".");
  if (signature === undefined) return undefined;
  return Claims.safeParse(parseJson(Buffer.from(claims, "base64url").toString("utf8"))).data;
}

function describeExpired(claims: Claims, nowMs: number): string | undefined {
  if (claims.exp === undefined || claims.exp * 1_000 > nowMs) return undefined;
  return `${describeToken(claims, nowMs)} ended ${formatTimeAgo(claims.exp, nowMs)}: replace it, and find out why it was not renewed`;
}

function describeToken({ sub, iss, iat }: Claims, nowMs: number): string {
  const facts = [
    ...(iss === undefined ? [] : [`issuer ${sanitize(iss, 70)}`]),
    ...(iat === undefined || iat * 1_000 > nowMs ? [] : [`issued ${formatTimeAgo(iat, nowMs)}`]),
  ];
  return `the token of ${sanitize(sub ?? "an unnamed subject", 60)}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

function sanitize(words: string, most: number): string {
  return sanitizeText(words, most);
}

function formatTime(second: number): string {
  return new Date(second * 1_000).toISOString();
}

function formatTimeAgo(second: number, nowMs: number): string {
  const age = Math.max(0, Math.floor(nowMs / 1_000 - second));
  const [unit, size] = UNITS.find(([, length]) => age >= 2 * length) ?? ["s", 1];
  return `${Math.floor(age / size)} ${unit} ago`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

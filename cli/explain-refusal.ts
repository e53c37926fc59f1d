import * as z from "zod";
import { shown } from "#core/shown-text.ts";
import { parseJson } from "#kube/client/answer.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Connects as `connect` does. An API server says of a sign-in that it refuses (401) no more than "Unauthorized": here its answer says,
 * too, whose token it was by the token's own words, and what to do. Nothing of a token but these words is told.
 */
export function connectExplained(options: ConnectOptions): Transport {
  const transport = connect(options);
  const { authorization, now = Date.now } = options;
  return {
    ...transport,
    async send(request) {
      const answer = await transport.send(request);
      if (answer.status !== 401) return answer;
      // What was just sent is remembered, so that nobody is asked again.
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

/** Why a header may have been refused, and what to do, in one sentence of a message; `nowMs` since the epoch. */
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
    return `${describeToken(claims, nowMs)} begins at ${timeOf(begin)}: see the clocks of this machine and of whoever issued it`;
  const audiences = [aud ?? []].flat();
  const audience = audiences.length === 0 ? "" : `, and takes the audience ${text(audiences.join(", "), 40)}`;
  const until = exp === undefined ? "does not end" : `holds until ${timeOf(exp)}`;
  return `${describeToken(claims, nowMs)} ${until}: see that the API server knows its issuer${audience}`;
}

/** Whose token has ended, and when; undefined where the header is no such token, or has not. */
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
  "its token says nothing of itself: see that it was made for this API server, and that nobody has revoked it";
const SKEW_MS = 60_000;

const seconds = z.number().min(0).max(253_402_300_799).optional().catch(undefined);
/** Claims of a JSON web token (RFC 7519), as far as they are told; nothing of it is verified. */
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
  return `${describeToken(claims, nowMs)} ended ${agoOf(claims.exp, nowMs)}: put a new one in its place, and see why nobody has`;
}

function describeToken({ sub, iss, iat }: Claims, nowMs: number): string {
  const facts = [
    ...(iss === undefined ? [] : [`issuer ${text(iss, 70)}`]),
    ...(iat === undefined || iat * 1_000 > nowMs ? [] : [`issued ${agoOf(iat, nowMs)}`]),
  ];
  return `the token of ${text(sub ?? "nobody by name", 60)}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`;
}

function text(words: string, most: number): string {
  return shown(words, most);
}

function timeOf(second: number): string {
  return new Date(second * 1_000).toISOString();
}

function agoOf(second: number, nowMs: number): string {
  const age = Math.max(0, Math.floor(nowMs / 1_000 - second));
  const [unit, size] = UNITS.find(([, length]) => age >= 2 * length) ?? ["s", 1];
  return `${Math.floor(age / size)} ${unit} ago`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

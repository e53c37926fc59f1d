import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { ApiKey } from "#test/clouds/oci/fake/credentials.ts";

/** The parts of a request that a signature covers. */
export interface Sent {
  readonly method: string;
  /** With the query, as received. */
  readonly target: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** The accepted keys, by key ID. */
export type KnownKeys = ReadonlyMap<string, ApiKey>;

/**
 * `wrong`: no client of the API may send such a request. `refused`: the request is well-formed and not accepted.
 */
export type Verdict =
  | { readonly kind: "accepted" }
  | { readonly kind: "wrong" | "refused"; readonly why: string };

const GENERIC = ["date", "(request-target)", "host"];
const OF_BODY = ["content-length", "content-type", "x-content-sha256"];
const MAX_SKEW_MS = 5 * 60_000;

/**
 * Checks a signature as Oracle does: version, algorithm, which headers are signed, the date, the body's
 * digest and the RSA signature.
 */
export function checkSignature(sent: Sent, keys: KnownKeys, now: number): Verdict {
  const { method, target, headers, body } = sent;
  const wrong = (why: string): Verdict => ({ kind: "wrong", why });
  const { authorization = "", date = "", host = "" } = headers;
  const parameters = new Map(
    [...authorization.matchAll(/([A-Za-z]+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]),
  );
  if (!authorization.startsWith("Signature ")) return wrong("no signature");
  if (parameters.get("version") !== "1" || parameters.get("algorithm") !== "rsa-sha256")
    return wrong("another version or algorithm");
  const signed = (parameters.get("headers") ?? "").split(" ");
  const hasBody = ["POST", "PUT", "PATCH"].includes(method);
  const missing = [...GENERIC, ...(hasBody ? OF_BODY : [])].filter((each) => !signed.includes(each));
  if (missing.length > 0) return wrong(`not signed: ${missing.join(", ")}`);
  if (hasBody) {
    const digest = createHash("sha256").update(body).digest("base64");
    if (headers["x-content-sha256"] !== digest) return wrong("the digest is not the body's");
    if (headers["content-length"] !== String(Buffer.byteLength(body)))
      return wrong("the length is not the body's");
    if (headers["content-type"] !== "application/json") return wrong("the body is not said to be JSON");
  }
  const skewMs = Math.abs(Date.parse(date) - now);
  if (Number.isNaN(skewMs)) return wrong("no date");
  if (skewMs > MAX_SKEW_MS) return { kind: "refused", why: "the date is too far off" };
  const key = keys.get(parameters.get("keyId") ?? "");
  if (key === undefined) return { kind: "refused", why: "no such key" };
  const lines = signed.map((name) => {
    if (name === "(request-target)") return `${name}: ${method.toLowerCase()} ${target}`;
    return `${name}: ${name === "host" ? host : headers[name]}`;
  });
  const signature = Buffer.from(parameters.get("signature") ?? "", "base64");
  const isRight = verify("sha256", Buffer.from(lines.join("\n")), publicKeyOf(key), signature);
  return isRight ? { kind: "accepted" } : { kind: "refused", why: "the signature does not verify" };
}

const PUBLIC_KEYS = new WeakMap<ApiKey, KeyObject>();

/** Parsed once: there are many more requests than keys. */
function publicKeyOf(key: ApiKey): KeyObject {
  const known = PUBLIC_KEYS.get(key) ?? createPublicKey(key.pem);
  PUBLIC_KEYS.set(key, known);
  return known;
}

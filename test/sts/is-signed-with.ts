import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The secret half of a key. */
export interface SigningKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Whether a presigned GET with these headers was signed with the key. Implements AWS's documented Signature
 * Version 4 without any of the signing code.
 */
export async function isSignedWith(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { secretAccessKey }: SigningKey,
): Promise<boolean> {
  const given = url.searchParams.get("X-Amz-Signature") ?? "";
  const [, day = "", region = "", service = ""] = (url.searchParams.get("X-Amz-Credential") ?? "").split("/");
  const signed = (url.searchParams.get("X-Amz-SignedHeaders") ?? "").split(";");
  const query = [...url.searchParams]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort();
  const canonical = [
    "GET",
    url.pathname,
    query.join("&"),
    ...signed.map((name) => `${name}:${headers[name] ?? ""}`),
    "",
    signed.join(";"),
    hash(""),
  ].join("\n");
  const scope = { day, region, service, time: url.searchParams.get("X-Amz-Date") ?? "" };
  return isEqual(given, sign(canonical, scope, secretAccessKey));
}

/** A request with the signature in its `Authorization` header. */
export interface SignedRequest {
  readonly method: string;
  /** Without a query, and without characters that need escaping. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/;

/** Returns the access key and the region for which a request is signed, or undefined without a signature. */
export function readCredential({
  headers,
}: Pick<SignedRequest, "headers">): { readonly accessKeyId: string; readonly region: string } | undefined {
  const [, accessKeyId, scope] = AUTHORIZATION.exec(String(headers["authorization"] ?? "")) ?? [];
  if (accessKeyId === undefined) return undefined;
  return { accessKeyId, region: scope?.split("/")[1] ?? "" };
}

/** Whether a request was signed with the key that it names. */
export function isRequestSignedWith(request: SignedRequest, { secretAccessKey }: SigningKey): boolean {
  const { method, path, headers, body } = request;
  const [, , scope = "", signed = "", given = ""] =
    AUTHORIZATION.exec(String(headers["authorization"])) ?? [];
  const [day = "", region = "", service = ""] = scope.split("/");
  const lines = signed.split(";").map((name) => `${name}:${headers[name] ?? ""}`);
  const canonical = [method, path, "", ...lines, "", signed, hash(body)].join("\n");
  const time = String(headers["x-amz-date"] ?? "");
  return isEqual(given, sign(canonical, { day, region, service, time }, secretAccessKey));
}

function sign(
  canonical: string,
  { day, region, service, time }: Readonly<Record<"day" | "region" | "service" | "time", string>>,
  secret: string,
): string {
  const scope = [day, region, service, "aws4_request"];
  const toSign = ["AWS4-HMAC-SHA256", time, scope.join("/"), hash(canonical)].join("\n");
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, toSign).toString("hex");
}

function isEqual(given: string, wanted: string): boolean {
  return wanted.length === given.length && timingSafeEqual(Buffer.from(wanted), Buffer.from(given));
}

function hash(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

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
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", url.searchParams.get("X-Amz-Date"), scope, hash(canonical)].join("\n");
  const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const wanted = hmac(key, toSign).toString("hex");
  return wanted.length === given.length && timingSafeEqual(Buffer.from(wanted), Buffer.from(given));
}

function hash(text: string): string {
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

import { STSClient } from "@aws-sdk/client-sts";
import { SignatureV4 } from "@smithy/signature-v4";

/** Location of one S3 object. */
export interface S3Location {
  readonly bucket: string;
  readonly key: string;
  /** The bucket's region; without it that of the environment. */
  readonly region: string | undefined;
}

/** S3's answer, as far as a conditional write needs it. */
export interface S3Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly text: string;
}

/** Condition of a write: the object has this ETag, or does not exist. */
export type S3Condition = { readonly etag: string } | { readonly absent: true };

const TIMEOUT_MS = 3_000;
/** Maximum size of an answer; larger than any object stored here. */
const MAX_BYTES = 256 * 1024;

/**
 * Reads and conditionally writes one S3 object, at `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` if set. It
 * signs with the SDK parts that functions have for STS, because S3's own client is larger than a whole
 * function. It uses the process's own credentials and rejects without an answer.
 */
export function createS3Object({ bucket, key, region: wanted }: S3Location) {
  const client = new STSClient(wanted === undefined ? {} : { region: wanted });

  async function send(
    method: "GET" | "PUT",
    signal: AbortSignal,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<S3Answer> {
    const { credentials, sha256, useFipsEndpoint, endpointProvider } = client.config;
    const region = await client.config.region();
    const url = buildObjectUrl(bucket, key, {
      // The region's domain, without the service.
      domain: endpointProvider({
        Region: region,
        UseFIPS: false,
        UseDualStack: false,
        UseGlobalEndpoint: false,
      }).url.hostname.replace(/^sts\./, ""),
      isFips: await useFipsEndpoint(),
      endpoint: process.env["AWS_ENDPOINT_URL_S3"] || process.env["AWS_ENDPOINT_URL"] || undefined,
    });
    // S3 signs the path as sent; other services escape it twice.
    const signer = new SignatureV4({ credentials, region, service: "s3", sha256, uriEscapePath: false });
    const { headers } = await signer.sign({
      method,
      protocol: url.protocol,
      hostname: url.hostname,
      ...(url.port === "" ? {} : { port: Number(url.port) }),
      path: url.pathname,
      headers: { host: url.host, ...more.headers },
      ...(more.body === undefined ? {} : { body: more.body }),
    });
    const { host: _, ...sent } = headers;
    const response = await fetch(url, {
      method,
      headers: sent,
      ...(more.body === undefined ? {} : { body: more.body }),
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return {
      status: response.status,
      etag: response.headers.get("etag") ?? undefined,
      text: await readText(response),
    };
  }

  return {
    get: (signal: AbortSignal) => send("GET", signal),
    put: (body: string, condition: S3Condition, signal: AbortSignal) =>
      send("PUT", signal, {
        body,
        headers: {
          "content-type": "application/json",
          ...("etag" in condition ? { "if-match": condition.etag } : { "if-none-match": "*" }),
        },
      }),
  };
}

/** Reads an answer up to the maximum size; rejects if it is larger. */
async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`the object has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

interface S3Endpoint {
  readonly domain: string;
  readonly isFips: boolean;
  readonly endpoint: string | undefined;
}

/** AWS has a host per bucket; substitutes use a path. */
function buildObjectUrl(bucket: string, key: string, { domain, isFips, endpoint }: S3Endpoint): URL {
  const path = key.split("/").map(encodeURIComponent).join("/");
  if (endpoint !== undefined) return new URL(`${endpoint.replace(/(?<!\/)\/+$/, "")}/${bucket}/${path}`);
  return new URL(`https://${bucket}.s3${isFips ? "-fips" : ""}.${domain}/${path}`);
}

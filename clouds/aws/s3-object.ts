import { STSClient } from "@aws-sdk/client-sts";
import { SignatureV4 } from "@smithy/signature-v4";

/** One object of S3, and where it is. */
export interface S3Location {
  readonly bucket: string;
  readonly key: string;
  /** The bucket's; that of the environment without it. */
  readonly region: string | undefined;
}

/** What S3 answered, as far as a conditional write takes it. */
export interface S3Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly text: string;
}

/** What a write is conditional on: that the object has this ETag, or that there is none. */
export type S3Condition = { readonly etag: string } | { readonly absent: true };

const TIMEOUT_MS = 3_000;
/** Of an answer: more than any object that is kept here has. */
const MAX_BYTES = 256 * 1024;

/**
 * One object of S3, read and conditionally written, at `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` where that is set. It is signed with what functions
 * have of the SDK for STS, as S3's own client is larger than all of a function. Signs in as the process does; rejects where there is no answer.
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
    const url = urlOf(bucket, key, {
      // The region's own names, without the service's.
      domain: endpointProvider({
        Region: region,
        UseFIPS: false,
        UseDualStack: false,
        UseGlobalEndpoint: false,
      }).url.hostname.replace(/^sts\./, ""),
      isFips: await useFipsEndpoint(),
      endpoint: process.env["AWS_ENDPOINT_URL_S3"] || process.env["AWS_ENDPOINT_URL"] || undefined,
    });
    // S3 signs a path as it is sent, and everybody else's is escaped twice.
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
      text: await textOf(response),
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

/** Reads as much of an answer as there may be; rejects where there is more. */
async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`the object has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

interface Place {
  readonly domain: string;
  readonly isFips: boolean;
  readonly endpoint: string | undefined;
}

/** AWS has a host for each bucket; what stands in for it has a path. */
function urlOf(bucket: string, key: string, { domain, isFips, endpoint }: Place): URL {
  const path = key.split("/").map(encodeURIComponent).join("/");
  if (endpoint !== undefined) return new URL(`${endpoint.replace(/(?<!\/)\/+$/, "")}/${bucket}/${path}`);
  return new URL(`https://${bucket}.s3${isFips ? "-fips" : ""}.${domain}/${path}`);
}

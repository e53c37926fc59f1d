import { STSClient } from "@aws-sdk/client-sts";
import { SignatureV4 } from "@smithy/signature-v4";
import { type AwsCaller, buildClientOptions } from "#platforms/aws/secrets/client-options.ts";
import { toSecretError } from "#platforms/aws/secrets/to-secret-error.ts";
import type { Reading } from "#platforms/keep-fresh.ts";

/** The request for a token of an EKS cluster. */
export interface EksTokenRequest extends AwsCaller {
  /** The cluster's name in EKS. */
  readonly eksCluster: string;
}

/** STS accepts a signature for this long after its date, whatever the URL says. */
const VALID_MS = 15 * 60_000;
/** No request starts with a token in its last minute. */
const MARGIN_MS = 60_000;
/** The lifetime in the URL: old authenticators accept no more. */
const EXPIRES_SECONDS = 60;

/** The header that names the token's cluster; it is signed, so that no other cluster can use the token. */
const CLUSTER_HEADER = "x-k8s-aws-id";

/**
 * Creates a token for EKS: a signed but unsent request to STS that identifies the sender. It makes no request
 * except for credentials. Rejects with `SecretError`.
 */
export async function createEksToken(request: EksTokenRequest): Promise<Reading<string>> {
  const client = new STSClient(await buildClientOptions(request));
  try {
    const { credentials, endpointProvider, region, sha256 } = client.config;
    const [identity, Region] = [await credentials(), await region()];
    // The official host in the region's partition: EKS accepts no other, whatever endpoint this process uses
    // itself.
    const { url } = endpointProvider({
      Region,
      UseFIPS: false,
      UseDualStack: false,
      UseGlobalEndpoint: false,
    });
    const signedAt = Date.now();
    const signer = new SignatureV4({ credentials: identity, region: Region, service: "sts", sha256 });
    const { query } = await signer.presign(
      {
        method: "GET",
        protocol: url.protocol,
        hostname: url.hostname,
        path: "/",
        query: { Action: "GetCallerIdentity", Version: "2011-06-15" },
        headers: { host: url.host, [CLUSTER_HEADER]: request.eksCluster },
      },
      { signingDate: new Date(signedAt), expiresIn: EXPIRES_SECONDS },
    );
    const signed = `${url.origin}/?${new URLSearchParams(query as Record<string, string>)}`;
    const endsAt = Math.min(signedAt + VALID_MS, identity.expiration?.getTime() ?? Number.POSITIVE_INFINITY);
    const value = `k8s-aws-v1.${Buffer.from(signed).toString("base64url")}`;
    return { value, endsAt: endsAt - MARGIN_MS };
  } catch (error) {
    throw toSecretError(error, {
      what: `a token for the EKS cluster ${request.eksCluster}`,
      needs: "see the credentials of this process",
      denied: "TokenRefused",
      unavailable: "TokenUnavailable",
    });
  } finally {
    client.destroy();
  }
}

import { STSClient } from "@aws-sdk/client-sts";
import { SignatureV4 } from "@smithy/signature-v4";
import { refusalOf } from "#clouds/aws/secrets/refusal.ts";
import { type AwsCaller, signedAs } from "#clouds/aws/secrets/signed-as.ts";
import type { Reading } from "#clouds/keep-fresh.ts";

/** A token for an EKS cluster, and for whom it is. */
export interface EksTokenRequest extends AwsCaller {
  /** The cluster's name in EKS. */
  readonly eksCluster: string;
}

/** STS takes a signature for so long after its date, whatever the URL says … */
const VALID_MS = 15 * 60_000;
/** … and a minute before that nobody starts a request with it any more. */
const MARGIN_MS = 60_000;
/** What the URL says: authenticators of old take no more. */
const EXPIRES_SECONDS = 60;

/** The header that says for which cluster a token is; it is signed, so that no other cluster can use it. */
const CLUSTER_HEADER = "x-k8s-aws-id";

/**
 * A token that EKS takes: a request to STS that says who its sender is, signed and not sent. It is made here; nobody is asked but
 * for credentials. Rejects with `SecretError`.
 */
export async function eksToken(request: EksTokenRequest): Promise<Reading<string>> {
  const client = new STSClient(await signedAs(request));
  try {
    const { credentials, endpointProvider, region, sha256 } = client.config;
    const [identity, Region] = [await credentials(), await region()];
    // The official name in the region's partition: EKS takes no other, whatever endpoint this process uses itself.
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
    throw refusalOf(error, {
      what: `a token for the EKS cluster ${request.eksCluster}`,
      needs: "see the credentials of this process",
      denied: "TokenRefused",
      unavailable: "TokenUnavailable",
    });
  } finally {
    client.destroy();
  }
}

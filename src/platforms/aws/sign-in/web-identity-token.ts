import { GetWebIdentityTokenCommand, STSClient } from "@aws-sdk/client-sts";
import { type AwsCaller, buildClientOptions } from "#platforms/aws/secrets/client-options.ts";
import { toSecretError } from "#platforms/aws/secrets/to-secret-error.ts";
import type { Reading } from "#platforms/keep-fresh.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/** The request for a token of AWS's own issuer. */
export interface WebIdentityTokenRequest extends AwsCaller {
  readonly audience: string;
  readonly signingAlgorithm: "RS256" | "ES384";
  readonly durationSeconds: number;
}

/**
 * Returns a token in which AWS certifies the role, for one audience. It calls STS of the region, at
 * `AWS_ENDPOINT_URL_STS` if set. Rejects with `SecretError`.
 */
export async function readWebIdentityToken(request: WebIdentityTokenRequest): Promise<Reading<string>> {
  const { audience, signingAlgorithm, durationSeconds } = request;
  const what = `a token for the audience ${audience}`;
  const client = new STSClient(await buildClientOptions(request));
  try {
    const { WebIdentityToken, Expiration } = await client.send(
      new GetWebIdentityTokenCommand({
        Audience: [audience],
        SigningAlgorithm: signingAlgorithm,
        DurationSeconds: durationSeconds,
      }),
    );
    if (WebIdentityToken === undefined || Expiration === undefined)
      throw new SecretError("TokenUnavailable", `${what}: the answer of STS holds none`);
    return { value: WebIdentityToken, endsAt: Expiration.getTime() };
  } catch (error) {
    if (error instanceof Error && error.name === DISABLED)
      throw new SecretError("TokenRefused", `${what} is refused by AWS (${DISABLED}); ${ENABLE}`);
    if (error instanceof Error && error.name === ESCALATION)
      throw new SecretError("TokenRefused", `${what} is refused by AWS (${ESCALATION}); ${SHORTEN}`);
    throw toSecretError(error, {
      what,
      needs: "see that sts:GetWebIdentityToken is allowed for this audience, algorithm and duration",
      denied: "TokenRefused",
      unavailable: "TokenUnavailable",
    });
  } finally {
    client.destroy();
  }
}

const DISABLED = "OutboundWebIdentityFederationDisabledException";
const ENABLE =
  "outbound identity federation is off in this account: aws iam enable-outbound-web-identity-federation";

const ESCALATION = "SessionDurationEscalationException";
const SHORTEN = "the session that asks ends before the token would; give a lower durationSeconds";

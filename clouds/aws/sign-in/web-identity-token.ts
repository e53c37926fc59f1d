import { GetWebIdentityTokenCommand, STSClient } from "@aws-sdk/client-sts";
import { refusalOf } from "#clouds/aws/secrets/refusal.ts";
import { type AwsCaller, signedAs } from "#clouds/aws/secrets/signed-as.ts";
import type { Reading } from "#clouds/keep-fresh.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";

/** A token of AWS's own issuer, and for whom it is. */
export interface WebIdentityTokenRequest extends AwsCaller {
  readonly audience: string;
  readonly signingAlgorithm: "RS256" | "ES384";
  readonly durationSeconds: number;
}

/**
 * A token in which AWS says which role this is, for one audience; STS of the region is asked, at `AWS_ENDPOINT_URL_STS` where that is
 * set. Rejects with `SecretError`.
 */
export async function webIdentityToken(request: WebIdentityTokenRequest): Promise<Reading<string>> {
  const { audience, signingAlgorithm, durationSeconds } = request;
  const what = `a token for the audience ${audience}`;
  const client = new STSClient(await signedAs(request));
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
    throw refusalOf(error, {
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

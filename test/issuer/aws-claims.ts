import type { Claims } from "#test/issuer/local-issuer.ts";

/** A request for sts:GetWebIdentityToken, and its caller. */
export interface WebIdentityRequest {
  /** The role's ARN, even if a session of it is the caller. */
  readonly roleArn: string;
  /** One or more; AWS accepts up to ten. */
  readonly audiences: readonly string[];
  /** 60 to 3600; AWS's default is 300. */
  readonly durationSeconds?: number;
  readonly region?: string;
}

/** Returns the claims of AWS's token; the issuer adds its name, the time of issue and the id. */
export function buildAwsClaims(request: WebIdentityRequest, now: Date = new Date()): Claims {
  const seconds = Math.floor(now.getTime() / 1_000);
  const [first = "", ...others] = request.audiences;
  return {
    sub: request.roleArn,
    aud: others.length === 0 ? first : [first, ...others],
    iat: seconds,
    exp: seconds + (request.durationSeconds ?? 300),
    "https://sts.amazonaws.com/": {
      aws_account: request.roleArn.split(":")[4],
      source_region: request.region ?? "eu-central-1",
    },
  };
}

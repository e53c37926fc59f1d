import type { Claims } from "#test/issuer/local-issuer.ts";

/** What sts:GetWebIdentityToken was asked for, and by whom. */
export interface WebIdentityRequest {
  /** The role's ARN, also where a session of it asks. */
  readonly roleArn: string;
  /** One or more; AWS takes up to ten. */
  readonly audiences: readonly string[];
  /** 60 to 3600; AWS's default is 300. */
  readonly durationSeconds?: number;
  readonly region?: string;
}

/** The claims of the token that AWS answers with; issuer, time of issue and id are the issuer's to add. */
export function awsClaims(request: WebIdentityRequest, now: Date = new Date()): Claims {
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

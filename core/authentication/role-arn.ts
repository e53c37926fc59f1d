/** An IAM role, as the subject of a token from sts:GetWebIdentityToken names it. */
export interface RoleArn {
  readonly partition: string;
  /** Twelve digits. */
  readonly account: string;
}

/** Parses the ARN of an IAM role; undefined for any other text, such as a role session's ARN. */
export function parseRoleArn(text: string): RoleArn | undefined {
  const [, partition, account] = ROLE.exec(text) ?? [];
  if (partition === undefined || account === undefined) return undefined;
  return { partition, account };
}

/**
 * Returns whether an ARN names a role session, as sts:GetCallerIdentity does. The session's token has the
 * role's own ARN.
 */
export function isSessionArn(text: string): boolean {
  return /^arn:[a-z-]+:sts::\d{12}:assumed-role\//.test(text);
}

// A path may contain any visible ASCII character, quotes included.
const ROLE = /^arn:(aws[a-z-]*):iam::(\d{12}):role\/(?:[\x21-\x7e]{1,510}\/)?[\w+=,.@-]{1,64}$/;

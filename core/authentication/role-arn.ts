/** A role of an AWS account, as the subject of a token that sts:GetWebIdentityToken answers with names it. */
export interface RoleArn {
  readonly partition: string;
  /** Twelve digits. */
  readonly account: string;
}

/** Reads the ARN of an IAM role; undefined for whatever else, a role's session included. */
export function parseRoleArn(text: string): RoleArn | undefined {
  const [, partition, account] = ROLE.exec(text) ?? [];
  if (partition === undefined || account === undefined) return undefined;
  return { partition, account };
}

/** Whether it names the session of a role, as sts:GetCallerIdentity does; its token has the role's own ARN. */
export function isSessionArn(text: string): boolean {
  return /^arn:[a-z-]+:sts::\d{12}:assumed-role\//.test(text);
}

// A path may have any visible character of ASCII, quotes included.
const ROLE = /^arn:(aws[a-z-]*):iam::(\d{12}):role\/(?:[\x21-\x7e]{1,510}\/)?[\w+=,.@-]{1,64}$/;

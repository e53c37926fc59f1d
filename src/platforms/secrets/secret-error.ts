/** Why a credential is not available; the codes are stable. */
export type SecretCode =
  /** The secret, parameter or file does not exist. */
  | "SecretNotFound"
  /** AWS denies access. */
  | "SecretDenied"
  /** Its store does not answer at present. */
  | "SecretUnavailable"
  /** The content is invalid. */
  | "SecretInvalid"
  /** The content has expired: its rotation is late. */
  | "SecretExpired"
  /** The role to be assumed first is refused. */
  | "RoleRefused"
  /** This process has no AWS credentials. */
  | "NoAwsCredentials"
  /** STS refuses a token to this caller. */
  | "TokenRefused"
  /** STS does not answer at present. */
  | "TokenUnavailable";

/**
 * A credential is not available. The message says which one and what to do, and quotes nothing of what was
 * read.
 */
export class SecretError extends Error {
  override readonly name = "SecretError";
  readonly code: SecretCode;

  // No cause: a library's error may quote what it could not read.
  constructor(code: SecretCode, message: string) {
    super(message);
    this.code = code;
  }
}

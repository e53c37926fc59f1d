/** Why something to sign in with cannot be had; stable. */
export type SecretCode =
  /** There is no such secret, parameter or file. */
  | "SecretNotFound"
  /** AWS refuses to hand it out. */
  | "SecretDenied"
  /** Its home does not answer, or not now. */
  | "SecretUnavailable"
  /** What is there is not what it is to be. */
  | "SecretInvalid"
  /** What is there has ended: whoever rotates it is late. */
  | "SecretExpired"
  /** The role that is to be assumed first cannot be. */
  | "RoleRefused"
  /** This process has no credentials of AWS at all. */
  | "NoAwsCredentials"
  /** STS issues no token to this caller. */
  | "TokenRefused"
  /** STS does not answer, or not now. */
  | "TokenUnavailable";

/** Something to sign in with cannot be had. Says what and what to do, and nothing of what was read. */
export class SecretError extends Error {
  override readonly name = "SecretError";
  readonly code: SecretCode;

  // Without a cause: an error of a library may quote what it could not read.
  constructor(code: SecretCode, message: string) {
    super(message);
    this.code = code;
  }
}

interface Advice {
  /** The name of the SDK's error, alone or before its message. */
  readonly words: RegExp;
  /** What the operator should do. */
  readonly advice: string;
}

/**
 * The advice for missing AWS credentials, or for credentials that AWS rejects, wherever the error appears.
 */
export const AWS_CREDENTIALS = {
  missing: {
    words: /^CredentialsProviderError\b/,
    advice: "give this process AWS credentials, by its environment, a profile or a role",
  },
  refused: {
    words: /^(ExpiredToken|InvalidSignature|UnrecognizedClient|InvalidClientTokenId|SignatureDoesNotMatch)/,
    advice: "renew this process's AWS credentials",
  },
} as const satisfies Readonly<Record<string, Advice>>;

/** Returns the advice for an SDK error by its name; undefined if it is not about credentials. */
export function getAwsCredentialsAdvice(errorName: string): string | undefined {
  return Object.values(AWS_CREDENTIALS).find(({ words }) => words.test(errorName))?.advice;
}

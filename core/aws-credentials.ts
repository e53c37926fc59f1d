interface Advice {
  /** The name of what the SDK throws, alone or in front of its message. */
  readonly words: RegExp;
  /** What to do. */
  readonly advice: string;
}

/** What to do where credentials of AWS are missing, or AWS does not take them: the same wherever that shows. */
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

/** Returns the advice for an error of the SDK by its name; undefined where it is about something else than credentials. */
export function adviseOnAwsCredentials(errorName: string): string | undefined {
  return Object.values(AWS_CREDENTIALS).find(({ words }) => words.test(errorName))?.advice;
}

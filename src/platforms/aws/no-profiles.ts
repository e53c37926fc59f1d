// Replaces the SDK's credential providers that read ~/.aws: profiles, single sign-on, programs and log-ins. A
// function platform provides credentials through the environment, a container endpoint or a web identity.

/** As in `@aws-sdk/credential-provider-ini`. */
export const fromIni = createNoProfiles;

/** As in `@aws-sdk/credential-provider-process`. */
export const fromProcess = createNoProfiles;

/** As in `@aws-sdk/credential-provider-sso`. */
export const fromSSO = createNoProfiles;

/**
 * Returns a provider that passes to the next one. If a profile is configured by name, it rejects with a
 * remedy.
 */
function createNoProfiles(): () => Promise<never> {
  return async () => {
    const profile = process.env["AWS_PROFILE"];
    const message = !profile
      ? "functions read no profiles"
      : `AWS_PROFILE is ${profile}, but functions read no profiles: unset it and give credentials, by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for one`;
    // The SDK's chain recognizes its errors by these fields.
    throw Object.assign(new Error(message), {
      name: "CredentialsProviderError",
      tryNextLink: !profile,
    });
  };
}

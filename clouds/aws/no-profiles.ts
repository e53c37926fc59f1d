// What a function's bundle has in place of the SDK's credential providers that read ~/.aws: profiles, single sign-on, programs
// and log-ins. A function platform gives credentials through the environment, a container's endpoint or a web identity.

/** As in `@aws-sdk/credential-provider-ini`. */
export const fromIni = noProfiles;

/** As in `@aws-sdk/credential-provider-process`. */
export const fromProcess = noProfiles;

/** As in `@aws-sdk/credential-provider-sso`. */
export const fromSSO = noProfiles;

/** A provider that hands over to the next one; where a profile is asked for by name, it rejects and says what to do. */
function noProfiles(): () => Promise<never> {
  return async () => {
    const profile = process.env["AWS_PROFILE"];
    const message = !profile
      ? "functions read no profiles"
      : `AWS_PROFILE is ${profile}, but functions read no profiles: unset it and give credentials, by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for one`;
    // The SDK's chain knows its errors by these fields.
    throw Object.assign(new Error(message), {
      name: "CredentialsProviderError",
      tryNextLink: !profile,
    });
  };
}

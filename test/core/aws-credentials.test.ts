import { expect, test } from "vitest";
import { adviseOnAwsCredentials } from "#core/aws-credentials.ts";

test.each([
  ["CredentialsProviderError", "give this process AWS credentials, by its environment, a profile or a role"],
  ["ExpiredTokenException", "renew this process's AWS credentials"],
  ["AccessDenied", undefined],
  ["", undefined],
])("advises on %j", (name, advice) => {
  expect(adviseOnAwsCredentials(name)).toBe(advice);
});

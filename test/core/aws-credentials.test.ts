import { expect, test } from "vitest";
import { getAwsCredentialsAdvice } from "#core/aws-credentials.ts";

test.each([
  ["CredentialsProviderError", "give this process AWS credentials, by its environment, a profile or a role"],
  ["ExpiredTokenException", "renew this process's AWS credentials"],
  ["AccessDenied", undefined],
  ["", undefined],
])("advises on %j", (name, advice) => {
  expect(getAwsCredentialsAdvice(name)).toBe(advice);
});

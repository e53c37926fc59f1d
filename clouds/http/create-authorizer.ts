import type { Authorize } from "#clouds/http/api.ts";
import { createReferencedToken } from "#clouds/http/token-by-reference.ts";
import { createFixedToken, createTokenFile } from "#clouds/http/token-file.ts";
import type { Environment } from "#clouds/provider.ts";
import type { SecretReference } from "#platforms/secrets/reference.ts";

/** The configured source of a cluster's API token. */
export interface TokenConfig {
  readonly tokenFile?: string | undefined;
  readonly credentials?: SecretReference | undefined;
}

/** Other sources of the token, and the configuration key of its file. */
export interface TokenSource {
  readonly variable: string;
  readonly key: string;
  readonly environment: Environment;
  readonly clusterName: string;
}

/**
 * Creates the authorizer of a cluster's API token: from a secret, its file, or the environment. Throws if
 * none is set.
 */
export function createAuthorizer(
  { tokenFile: file, credentials }: TokenConfig,
  { variable, key, environment, clusterName }: TokenSource,
): Authorize {
  if (credentials !== undefined) return createReferencedToken(credentials, { clusterName });
  if (file !== undefined) return createTokenFile(file);
  const token = environment[variable];
  if (token !== undefined && token !== "") return createFixedToken(token, variable);
  throw new Error(`${key} is required if ${variable} is not set: a file with the API token`);
}

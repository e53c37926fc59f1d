import type { Authorize } from "#clouds/http/api.ts";
import { fixedToken, tokenFile } from "#clouds/http/token-file.ts";
import type { Environment } from "#clouds/kind.ts";
import type { SecretReference } from "#clouds/secrets/reference.ts";
import { tokenByReference } from "#clouds/secrets/token-by-reference.ts";

/** Where a configuration says that a cluster's API token is. */
export interface TokenConfig {
  readonly tokenFile?: string | undefined;
  readonly credentials?: SecretReference | undefined;
}

/** Where else it may be, and how a file of it is called in the configuration. */
export interface TokenSource {
  readonly variable: string;
  readonly key: string;
  readonly environment: Environment;
  readonly clusterName: string;
}

/** A cluster's API token: a secret, its file, else the environment's. Throws where there is none of them. */
export function tokenOf(
  { tokenFile: file, credentials }: TokenConfig,
  { variable, key, environment, clusterName }: TokenSource,
): Authorize {
  if (credentials !== undefined) return tokenByReference(credentials, { clusterName });
  if (file !== undefined) return tokenFile(file);
  const token = environment[variable];
  if (token !== undefined && token !== "") return fixedToken(token, variable);
  throw new Error(`${key} is required where ${variable} is not set: the file that holds the API token`);
}

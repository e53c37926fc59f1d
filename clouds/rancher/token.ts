import type { Authorize } from "#clouds/http/api.ts";
import { fixedToken, tokenFile } from "#clouds/http/token-file.ts";
import type { Environment } from "#clouds/kind.ts";
import { type ManagementServer, TOKEN_VARIABLE } from "#clouds/rancher/kind.ts";
import { tokenByReference } from "#clouds/secrets/token-by-reference.ts";

/** Where the token of a management server comes from: a secret, its file, else the environment. Throws where there is none of them. */
export function tokenOf(
  { tokenFile: file, credentials }: ManagementServer,
  environment: Environment,
  clusterName: string,
): Authorize {
  if (credentials !== undefined) return tokenByReference(credentials, { clusterName });
  if (file !== undefined) return tokenFile(file);
  const token = environment[TOKEN_VARIABLE];
  if (token !== undefined && token !== "") return fixedToken(token, TOKEN_VARIABLE);
  throw new Error(
    `rancher.tokenFile is required where ${TOKEN_VARIABLE} is not set: the file that holds the API token`,
  );
}

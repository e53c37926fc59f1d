import { type DigitalOceanCloudConfig, TOKEN_VARIABLE } from "#clouds/digitalocean/kind.ts";
import type { Authorize } from "#clouds/http/api.ts";
import { fixedToken, tokenFile } from "#clouds/http/token-file.ts";
import type { Environment } from "#clouds/kind.ts";

/** Where a cluster's API token comes from: its file, else the environment. Throws where there is neither. */
export function tokenOf({ tokenFile: file }: DigitalOceanCloudConfig, environment: Environment): Authorize {
  if (file !== undefined) return tokenFile(file);
  const token = environment[TOKEN_VARIABLE];
  if (token !== undefined && token !== "") return fixedToken(token, TOKEN_VARIABLE);
  throw new Error(
    `tokenFile is required where ${TOKEN_VARIABLE} is not set: the file that holds the API token`,
  );
}

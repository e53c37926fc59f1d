import type { Sign } from "#clouds/http/api.ts";
import type { Environment } from "#clouds/provider.ts";
import { CATTLE_VARIABLES, type CattleServer } from "#clouds/rancher/config.ts";
import { readSecret } from "#platforms/secrets/read-secret.ts";

/**
 * Creates a signer with access key and secret key. A file is read for each request, so that a renewed key is
 * used at once. Throws if one of the two is missing.
 */
export function createCattleSigner(
  { accessKey, secretKeyFile }: CattleServer,
  environment: Environment,
  clusterName: string,
): Sign {
  const access = accessKey ?? environment[CATTLE_VARIABLES.accessKey] ?? "";
  const secret = environment[CATTLE_VARIABLES.secretKey] ?? "";
  if (access === "")
    throw new Error(`cattle.accessKey is required if ${CATTLE_VARIABLES.accessKey} is not set`);
  if (secretKeyFile === undefined && secret === "") {
    throw new Error(
      `cattle.secretKeyFile is required if ${CATTLE_VARIABLES.secretKey} is not set: a file with the secret key`,
    );
  }
  return async (_request, refused) => {
    const key =
      secretKeyFile === undefined
        ? secret
        : (await readSecret({ file: secretKeyFile }, { clusterName })).trim();
    const encoded = Buffer.from(`${access}:${key}`).toString("base64");
    const authorization = `Basic ${encoded}`;
    if (refused?.headers["authorization"] === authorization) return refused;
    return { headers: { authorization }, secrets: [encoded, key] };
  };
}

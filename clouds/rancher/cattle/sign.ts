import type { Sign } from "#clouds/http/api.ts";
import type { Environment } from "#clouds/kind.ts";
import { CATTLE_VARIABLES, type CattleServer } from "#clouds/rancher/kind.ts";
import { readSecret } from "#clouds/secrets/read-secret.ts";

/** Signs by access key and secret key; a file is read for each request, so that a key that was renewed counts at once. Throws where one of the two is missing. */
export function cattleSign(
  { accessKey, secretKeyFile }: CattleServer,
  environment: Environment,
  clusterName: string,
): Sign {
  const access = accessKey ?? environment[CATTLE_VARIABLES.accessKey] ?? "";
  const secret = environment[CATTLE_VARIABLES.secretKey] ?? "";
  if (access === "")
    throw new Error(`cattle.accessKey is required where ${CATTLE_VARIABLES.accessKey} is not set`);
  if (secretKeyFile === undefined && secret === "") {
    throw new Error(
      `cattle.secretKeyFile is required where ${CATTLE_VARIABLES.secretKey} is not set: the file that holds the secret key`,
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

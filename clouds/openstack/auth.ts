import type { Environment } from "#clouds/kind.ts";
import {
  isByApplicationCredential,
  type OpenStackCloudConfig,
  SECRET_VARIABLES,
} from "#clouds/openstack/kind.ts";
import { readSecret } from "#clouds/secrets/read-secret.ts";

/** Who signs in, and the secret by which. */
export interface Auth {
  /** What Keystone is told; reads the secret anew. Rejects where it cannot be had. */
  body(): Promise<unknown>;
  /** The secret as it was last read, so that nobody's words repeat it; empty before. */
  secrets(): readonly string[];
}

/** By application credential or password, whose secret is in a store, a file, else the environment. Throws where there is none of them. */
export function authOf(config: OpenStackCloudConfig, environment: Environment, clusterName: string): Auth {
  const read = readerOf(config, environment, clusterName);
  let last: string | undefined;
  return {
    async body() {
      last = await read();
      return isByApplicationCredential(config) ? byCredential(config, last) : byPassword(config, last);
    },
    // It is sent within JSON, and may come back as it stood there.
    secrets: () => (last === undefined ? [] : [JSON.stringify(last).slice(1, -1), last]),
  };
}

function readerOf(
  config: OpenStackCloudConfig,
  environment: Environment,
  clusterName: string,
): () => Promise<string> {
  const { "secret-file": file, credentials } = config;
  const reference = credentials ?? (file === undefined ? undefined : { file });
  if (reference !== undefined)
    return async () => (await readSecret(reference, { clusterName })).replace(/\r?\n$/, "");
  const variable = isByApplicationCredential(config)
    ? SECRET_VARIABLES.applicationCredential
    : SECRET_VARIABLES.password;
  const secret = environment[variable];
  if (secret !== undefined && secret !== "") return async () => secret;
  throw new Error(
    `secret-file is required where ${variable} is not set: the file that holds the secret to sign in with`,
  );
}

function byCredential(config: OpenStackCloudConfig, secret: string): unknown {
  const id = config["application-credential-id"];
  const credential =
    id === undefined ? { name: config["application-credential-name"], user: userOf(config) } : { id };
  return {
    identity: { methods: ["application_credential"], application_credential: { ...credential, secret } },
  };
}

function byPassword(config: OpenStackCloudConfig, password: string): unknown {
  const { "tenant-id": id, "tenant-name": name } = config;
  const domain = domainOf(config["tenant-domain-id"], config["tenant-domain-name"], config);
  return {
    identity: { methods: ["password"], password: { user: { ...userOf(config), password } } },
    scope: { project: id === undefined ? { name, domain } : { id } },
  };
}

function userOf(config: OpenStackCloudConfig): Readonly<Record<string, unknown>> {
  const id = config["user-id"];
  if (id !== undefined) return { id };
  const domain = domainOf(config["user-domain-id"], config["user-domain-name"], config);
  return { name: config.username, domain };
}

function domainOf(
  ownId: string | undefined,
  ownName: string | undefined,
  { "domain-id": commonId, "domain-name": commonName }: OpenStackCloudConfig,
): Readonly<Record<string, unknown>> {
  if (ownId !== undefined) return { id: ownId };
  if (ownName !== undefined) return { name: ownName };
  return commonId === undefined ? { name: commonName } : { id: commonId };
}

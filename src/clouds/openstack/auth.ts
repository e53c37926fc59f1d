import {
  isByApplicationCredential,
  type OpenStackCloudConfig,
  SECRET_VARIABLES,
} from "#clouds/openstack/config.ts";
import type { Environment } from "#clouds/provider.ts";
import { readSecret } from "#platforms/secrets/read-secret.ts";

/** The identity for sign-in and its secret. */
export interface Auth {
  /** Builds the body for Keystone and reads the secret again. Rejects if the secret is unreadable. */
  buildBody(): Promise<unknown>;
  /** Returns the last secret, so that no message repeats it; empty before the first read. */
  getSecrets(): readonly string[];
}

/**
 * Creates the identity from an application credential or a password, whose secret is in a store, a file or
 * the environment. Throws if no secret is configured.
 */
export function createAuth(
  config: OpenStackCloudConfig,
  environment: Environment,
  clusterName: string,
): Auth {
  const read = createSecretReader(config, environment, clusterName);
  let last: string | undefined;
  return {
    async buildBody() {
      last = await read();
      return isByApplicationCredential(config)
        ? buildCredentialAuth(config, last)
        : buildPasswordAuth(config, last);
    },
    // It is sent within JSON, and may return in that form.
    getSecrets: () => (last === undefined ? [] : [JSON.stringify(last).slice(1, -1), last]),
  };
}

function createSecretReader(
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
    `secret-file is required if ${variable} is not set: a file with the secret to sign in with`,
  );
}

function buildCredentialAuth(config: OpenStackCloudConfig, secret: string): unknown {
  const id = config["application-credential-id"];
  const credential =
    id === undefined ? { name: config["application-credential-name"], user: buildUser(config) } : { id };
  return {
    identity: { methods: ["application_credential"], application_credential: { ...credential, secret } },
  };
}

function buildPasswordAuth(config: OpenStackCloudConfig, password: string): unknown {
  const { "tenant-id": id, "tenant-name": name } = config;
  const domain = buildDomain(config["tenant-domain-id"], config["tenant-domain-name"], config);
  return {
    identity: { methods: ["password"], password: { user: { ...buildUser(config), password } } },
    scope: { project: id === undefined ? { name, domain } : { id } },
  };
}

function buildUser(config: OpenStackCloudConfig): Readonly<Record<string, unknown>> {
  const id = config["user-id"];
  if (id !== undefined) return { id };
  const domain = buildDomain(config["user-domain-id"], config["user-domain-name"], config);
  return { name: config.username, domain };
}

function buildDomain(
  ownId: string | undefined,
  ownName: string | undefined,
  { "domain-id": commonId, "domain-name": commonName }: OpenStackCloudConfig,
): Readonly<Record<string, unknown>> {
  if (ownId !== undefined) return { id: ownId };
  if (ownName !== undefined) return { name: ownName };
  return commonId === undefined ? { name: commonName } : { id: commonId };
}

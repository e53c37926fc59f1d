import * as z from "zod";
import {
  type AdministratorCredentials,
  parseKubeconfig,
} from "#config/registry/kubernetes/administrator-kubeconfig.ts";
import { decodeSecretValue, Secret, type SecretKey } from "#config/registry/kubernetes/found-cluster.ts";
import { parseJson } from "#core/parse-json.ts";
import { formatObjectPath } from "#core/resources/resource.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";

/** The subject of a minted token and the means to mint it. */
export interface MintOptions {
  /** The API server in the cluster's entry; the server in the kubeconfig is ignored. */
  readonly server: string;
  readonly tls: Pick<TlsCredentials, "certificateAuthority" | "serverName">;
  /** The Secret with the administrator's kubeconfig. */
  readonly secret: SecretKey;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  /** Opens a connection to the management cluster. */
  readonly management: () => Promise<Transport>;
  readonly judgeAddress?: ConnectOptions["judgeAddress"];
}

/** A token and its expiry, in milliseconds since the epoch. */
export interface MintedToken {
  readonly token: string;
  readonly expiresAt: number;
}

/** A token could not be minted. The message names the failed step and holds no credential. */
export class MintError extends Error {
  override readonly name = "MintError";
}

/** Seconds; one hour is short, and still long enough while a relay is briefly away. */
const EXPIRATION_SECONDS = 3_600;
const TIMEOUT_MS = 15_000;

const TokenRequest = z.object({
  status: z.object({ token: z.string().regex(/^[\x21-\x7e]+$/), expirationTimestamp: z.iso.datetime() }),
});

/**
 * Mints a ServiceAccount token with an administrator's kubeconfig, which it reads and then forgets. Only the
 * restricted token is kept. Rejects with `MintError`.
 */
export async function mintToken(options: MintOptions): Promise<MintedToken> {
  const { serviceAccount, server } = options;
  const credentials = await readCredentials(options);
  const administrator = connect({
    server,
    judgeAddress: options.judgeAddress,
    ...signInBy(credentials, options.tls),
  });
  try {
    const path = formatObjectPath({ apiVersion: "v1", name: "serviceaccounts" }, serviceAccount, "token");
    const body = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: EXPIRATION_SECONDS },
    };
    const answer = await ask(`a token of ServiceAccount ${formatServiceAccount(serviceAccount)}`, () =>
      administrator.send({ method: "POST", path, body, timeoutMs: TIMEOUT_MS }),
    );
    if (answer.status === 404)
      throw new MintError(
        `there is no ServiceAccount ${formatServiceAccount(serviceAccount)}; apply infra/rbac/service-accounts`,
      );
    const minted = TokenRequest.safeParse(parseJson(answer.body)).data;
    if (answer.status !== 201 || minted === undefined)
      throw new MintError(
        `no token of ServiceAccount ${formatServiceAccount(serviceAccount)} was given: ${describeAnswer(answer)}`,
      );
    return { token: minted.status.token, expiresAt: Date.parse(minted.status.expirationTimestamp) };
  } finally {
    await administrator.close();
  }
}

async function readCredentials({
  secret,
  server,
  management,
}: MintOptions): Promise<AdministratorCredentials> {
  const place = `secret ${secret.namespace}/${secret.name} of the management cluster`;
  const transport = await management();
  try {
    const path = formatObjectPath({ apiVersion: "v1", name: "secrets" }, secret);
    const answer = await ask(place, () => transport.send({ method: "GET", path, timeoutMs: TIMEOUT_MS }));
    const read = Secret.safeParse(parseJson(answer.body)).data;
    if (answer.status !== 200 || read === undefined)
      throw new MintError(`${place} cannot be read: ${describeAnswer(answer)}`);
    const value = read.data[secret.key];
    const parsed = value === undefined ? undefined : parseKubeconfig(decodeSecretValue(value));
    if (parsed?.kind !== "kubeconfig")
      throw new MintError(`${place}: ${secret.key} ${parsed === undefined ? "is missing" : parsed.message}`);
    if (parsed.kubeconfig.server !== server)
      throw new MintError(`${place} is of another API server than the cluster's entry`);
    return parsed.kubeconfig.credentials;
  } finally {
    await transport.close();
  }
}

function signInBy(credentials: AdministratorCredentials, tls: MintOptions["tls"]) {
  if (credentials.kind === "token")
    return { tls: async () => tls, authorization: async () => `Bearer ${credentials.token}` };
  const { certificate, key } = credentials;
  return { tls: async () => ({ ...tls, clientCertificate: { certificate, key } }) };
}

async function ask(what: string, send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  try {
    return await send();
  } catch (cause) {
    throw new MintError(`${what}: ${cause instanceof Error ? cause.message : "no answer"}`, { cause });
  }
}

function describeAnswer(answer: ApiResponse): string {
  const said = classifyAnswer(answer);
  return "message" in said ? said.message : `${answer.status}`;
}

function formatServiceAccount({ namespace, name }: MintOptions["serviceAccount"]): string {
  return `${namespace}/${name}`;
}

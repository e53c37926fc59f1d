import type { RequestOptions } from "node:https";
import { type Credentials, rememberCredentials } from "#cli/kubeconfig-credentials.ts";
import { KubeconfigError } from "#cli/kubeconfig-error.ts";
import { type KubeconfigDemands, type KubeconfigTrust, OWN_KUBECONFIG } from "#cli/kubeconfig-trust.ts";
import { kubeconfigVersion, type LoadedKubeconfig, loadKubeconfig } from "#cli/load-kubeconfig.ts";
import { fileTrouble, readSmallFile } from "#config/read-small-file.ts";
import type { ReadTls } from "#kube/client/connect.ts";
import type { Authorization } from "#kube/client/transport.ts";

/** What a kubeconfig's context comes to: where the API server is and how to sign in. */
export interface KubeconfigAccess {
  /** As it was at the start; who moves the API server starts anew. */
  readonly server: string;
  /** Reads the kubeconfig, if it has changed, and the files it names, anew for each connection. */
  readonly tls: ReadTls;
  /** Asks the kubeconfig's token, token file, exec plugin or OIDC provider, at most every ten seconds. */
  readonly authorization: Authorization;
}

/**
 * Reads a kubeconfig's current (or the named) context; rejects with `KubeconfigError`, which never quotes the file, where it asks for
 * more than it is trusted with: now, and whenever it is read again.
 */
export async function readKubeconfig(
  file: string,
  context?: string,
  trust: KubeconfigTrust = OWN_KUBECONFIG,
): Promise<KubeconfigAccess> {
  let loaded = await loadKubeconfig(file, context, trust);

  /** An exec plugin that was refused is only asked anew by a kubeconfig that was. */
  async function read(fresh: boolean): Promise<Credentials> {
    if (fresh || (await kubeconfigVersion(file)) !== loaded.version) {
      try {
        loaded = await loadKubeconfig(file, context, trust);
      } catch (error) {
        // In the middle of being rewritten; the server says when the last one does not hold any more.
        if (fresh) throw error;
      }
    }
    return credentialsOf(file, loaded);
  }

  const credentials = rememberCredentials(read);
  // What is missing is to be known at the start.
  await credentials.forConnection({});
  return {
    server: loaded.demands.server.replace(/\/+$/, ""),
    tls: async (options = {}) => (await credentials.forConnection(options)).tls,
    authorization: async (_signal, options = {}) => (await credentials.forRequest(options)).header,
  };
}

async function credentialsOf(file: string, { config, demands }: LoadedKubeconfig): Promise<Credentials> {
  await readNamedFiles(file, demands);
  const options = await requestOptions(config, file, demands);
  const { tokenFile } = demands;
  const [certificateAuthority, certificate, key] = [pem(options.ca), pem(options.cert), pem(options.key)];
  const clientCertificate = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return {
    tls: {
      certificateAuthority,
      clientCertificate,
      ...(demands.tlsServerName === undefined ? {} : { serverName: demands.tlsServerName }),
      ...(demands.skipTLSVerify === true ? { skipsVerification: true } : {}),
    },
    header: tokenFile === undefined ? headerOf(options) : await bearerOf(file, tokenFile),
  };
}

async function bearerOf(file: string, tokenFile: string): Promise<string> {
  return `Bearer ${(await readNamed(file, "token file", tokenFile)).trim()}`;
}

/** The library reads them too, but whatever they are, and says less of those that it cannot read. */
async function readNamedFiles(file: string, { caFile, certFile, keyFile }: KubeconfigDemands): Promise<void> {
  const named = { "certificate-authority": caFile, "client-certificate": certFile, "client-key": keyFile };
  for (const [key, path] of Object.entries(named)) if (path) await readNamed(file, key, path);
}

const MAX_NAMED_BYTES = 1024 * 1024;

async function readNamed(file: string, key: string, path: string): Promise<string> {
  try {
    return await readSmallFile(path, MAX_NAMED_BYTES);
  } catch (cause) {
    throw new KubeconfigError(file, `its ${key} ${path} ${fileTrouble(cause)}`, cause);
  }
}

/** An exec plugin that has not answered by then is not waited for: whoever opens a connection waits for it, and all others with him. */
const SIGN_IN_TIMEOUT_MS = 30_000;

async function requestOptions(
  config: LoadedKubeconfig["config"],
  file: string,
  demands: KubeconfigDemands,
): Promise<RequestOptions> {
  const options: RequestOptions = {};
  let timer: NodeJS.Timeout | undefined;
  try {
    const timeout = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("time-out")), SIGN_IN_TIMEOUT_MS);
    });
    await Promise.race([config.applyToHTTPSOptions(options), timeout]);
  } catch (cause) {
    // An exec plugin's own words may hold what it was given; its exit is all that is said here.
    throw new KubeconfigError(file, `signing in as its user failed: ${whatToLookAt(demands)}`, cause);
  } finally {
    clearTimeout(timer);
  }
  return options;
}

function headerOf(options: RequestOptions): string | undefined {
  const headers: unknown = options.headers;
  const header =
    headers !== null && typeof headers === "object" ? Reflect.get(headers, "Authorization") : undefined;
  if (typeof header === "string") return header.trim();
  if (typeof options.auth === "string") return `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return undefined;
}

function pem(value: RequestOptions["ca"] | RequestOptions["key"]): string | undefined {
  return typeof value === "string" || Buffer.isBuffer(value) ? value.toString() : undefined;
}

function whatToLookAt({ exec, authProvider }: KubeconfigDemands): string {
  if (exec) return `run its exec plugin by hand; it may take ${SIGN_IN_TIMEOUT_MS / 1000} s`;
  if (authProvider) return "see what its auth-provider needs, or use a token or a client certificate";
  return "see its certificate, key and token data";
}

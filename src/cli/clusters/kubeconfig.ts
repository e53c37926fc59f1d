import type { RequestOptions } from "node:https";
import {
  type KubeconfigDemands,
  KubeconfigError,
  type KubeconfigTrust,
  OWN_KUBECONFIG,
} from "#cli/clusters/kubeconfig-trust.ts";
import {
  type LoadedKubeconfig,
  loadKubeconfig,
  readKubeconfigVersion,
} from "#cli/clusters/load-kubeconfig.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import type { ReadTls } from "#kube/client/connect.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Authorization } from "#kube/client/transport.ts";

/** The access that a kubeconfig's context describes: the API server and the sign-in. */
export interface KubeconfigAccess {
  /** The server at the start; after moving the API server, restart the process. */
  readonly server: string;
  /** Reads the kubeconfig again for each connection if it changed, with the files that it names. */
  readonly tls: ReadTls;
  /**
   * Gets the header from the kubeconfig's token, token file, exec plugin or OIDC provider, at most every ten
   * seconds.
   */
  readonly authorization: Authorization;
}

/**
 * Reads a kubeconfig's current (or named) context. Rejects with `KubeconfigError`, which never quotes the
 * file, if it demands more than it is trusted with, now or at any later read.
 */
export async function readKubeconfig(
  file: string,
  context?: string,
  trust: KubeconfigTrust = OWN_KUBECONFIG,
): Promise<KubeconfigAccess> {
  let loaded = await loadKubeconfig(file, context, trust);

  /** Only a new read of the kubeconfig runs an exec plugin again after it was refused. */
  async function read(fresh: boolean): Promise<Credentials> {
    if (fresh || (await readKubeconfigVersion(file)) !== loaded.version) {
      try {
        loaded = await loadKubeconfig(file, context, trust);
      } catch (error) {
        // The file may be in the middle of a rewrite; the server reports when the last credentials expire.
        if (fresh) throw error;
      }
    }
    return readCredentials(file, loaded);
  }

  const credentials = rememberCredentials(read);
  // Missing files must be reported at the start.
  await credentials.forConnection({});
  return {
    server: loaded.demands.server.replace(/\/+$/, ""),
    tls: async (options = {}) => (await credentials.forConnection(options)).tls,
    authorization: async (_signal, options = {}) => (await credentials.forRequest(options)).header,
  };
}

async function readCredentials(file: string, { config, demands }: LoadedKubeconfig): Promise<Credentials> {
  await readNamedFiles(file, demands);
  const options = await readRequestOptions(config, file, demands);
  const { tokenFile } = demands;
  const [certificateAuthority, certificate, key] = [
    toPem(options.ca),
    toPem(options.cert),
    toPem(options.key),
  ];
  const clientCertificate = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return {
    tls: {
      certificateAuthority,
      clientCertificate,
      ...(demands.tlsServerName === undefined ? {} : { serverName: demands.tlsServerName }),
      ...(demands.skipTLSVerify === true ? { skipsVerification: true } : {}),
    },
    header: tokenFile === undefined ? getAuthorizationHeader(options) : await readBearer(file, tokenFile),
  };
}

async function readBearer(file: string, tokenFile: string): Promise<string> {
  return `Bearer ${(await readNamed(file, "token file", tokenFile)).trim()}`;
}

/** The library reads these files as well, but of any type, and reports less about unreadable ones. */
async function readNamedFiles(file: string, { caFile, certFile, keyFile }: KubeconfigDemands): Promise<void> {
  const named = { "certificate-authority": caFile, "client-certificate": certFile, "client-key": keyFile };
  for (const [key, path] of Object.entries(named)) if (path) await readNamed(file, key, path);
}

const MAX_NAMED_BYTES = 1024 * 1024;

async function readNamed(file: string, key: string, path: string): Promise<string> {
  try {
    return await readSmallFile(path, MAX_NAMED_BYTES);
  } catch (cause) {
    throw new KubeconfigError(file, `its ${key} ${path} ${describeFileError(cause)}`, cause);
  }
}

/** The time limit of an exec plugin: the connection, and all requests that need it, wait for it. */
const SIGN_IN_TIMEOUT_MS = 30_000;

async function readRequestOptions(
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
    // An exec plugin's message may contain its secrets; only its exit code is shown.
    throw new KubeconfigError(file, `signing in as its user failed: ${formatHint(demands)}`, cause);
  } finally {
    clearTimeout(timer);
  }
  return options;
}

function getAuthorizationHeader(options: RequestOptions): string | undefined {
  const headers: unknown = options.headers;
  const header =
    headers !== null && typeof headers === "object" ? Reflect.get(headers, "Authorization") : undefined;
  if (typeof header === "string") return header.trim();
  if (typeof options.auth === "string") return `Basic ${Buffer.from(options.auth).toString("base64")}`;
  return undefined;
}

function toPem(value: RequestOptions["ca"] | RequestOptions["key"]): string | undefined {
  return typeof value === "string" || Buffer.isBuffer(value) ? value.toString() : undefined;
}

function formatHint({ exec, authProvider }: KubeconfigDemands): string {
  if (exec) return `run its exec plugin by hand; it may take ${SIGN_IN_TIMEOUT_MS / 1000} s`;
  if (authProvider) return "see what its auth-provider needs, or use a token or a client certificate";
  return "see its certificate, key and token data";
}

/** The credentials of a kubeconfig at one time. */
interface Credentials {
  readonly tls: TlsCredentials;
  /** The header of each request. */
  readonly header: string | undefined;
}

/** Provides credentials, and reads them only as often as necessary. */
interface RememberedCredentials {
  /** Returns the current credentials. */
  forConnection(options: { readonly fresh?: boolean }): Promise<Credentials>;
  /** Returns credentials that are at most ten seconds old. */
  forRequest(options: { readonly fresh?: boolean }): Promise<Credentials>;
}

/** The library reads files on every call, which a burst of patches would do by the thousand. */
const REMEMBER_MS = 10_000;

/**
 * A refused request needs a new header and a new connection, possibly for two clients: within this time they
 * share one read.
 */
const FRESH_MS = 1_000;

/**
 * Caches the result of `read`. `fresh` means that the server has refused the last one, and always reads
 * again, plugins included.
 */
function rememberCredentials(
  read: (fresh: boolean) => Promise<Credentials>,
  now: () => number = () => performance.now(),
): RememberedCredentials {
  let answer: Promise<Credentials> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  let freshAt = Number.NEGATIVE_INFINITY;
  let reading = false;

  function ask(fresh: boolean): Promise<Credentials> {
    askedAt = now();
    if (fresh) freshAt = askedAt;
    reading = true;
    const own = read(fresh);
    answer = own;
    own.then(
      () => {
        if (answer === own) reading = false;
      },
      () => {
        if (answer !== own) return;
        reading = false;
        answer = undefined;
      },
    );
    return own;
  }

  const last = (fresh: boolean, maxAgeMs: number): Promise<Credentials> => {
    if (answer !== undefined && now() - freshAt < FRESH_MS) return answer;
    if (fresh) return ask(true);
    if (answer !== undefined && (reading || now() - askedAt < maxAgeMs)) return answer;
    return ask(false);
  };

  return {
    forConnection: ({ fresh = false }) => last(fresh, 0),
    forRequest: ({ fresh = false }) => last(fresh, REMEMBER_MS),
  };
}

import { readFile, stat } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import * as z from "zod";
import { type Credentials, rememberCredentials } from "#cli/kubeconfig-credentials.ts";
import { KubeconfigError } from "#cli/kubeconfig-error.ts";
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

/** Reads a kubeconfig's current (or the named) context; rejects with `KubeconfigError`, which never quotes the file. */
export async function readKubeconfig(file: string, context?: string): Promise<KubeconfigAccess> {
  let loaded = await loadContext(file, context);

  /** An exec plugin that was refused is only asked anew by a kubeconfig that was. */
  async function read(fresh: boolean): Promise<Credentials> {
    if (fresh || (await versionOf(file)) !== loaded.version) {
      try {
        loaded = await loadContext(file, context);
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
    server: loaded.server,
    tls: async (options = {}) => (await credentials.forConnection(options)).tls,
    authorization: async (_signal, options = {}) => (await credentials.forRequest(options)).header,
  };
}

/** A kubeconfig with its context chosen, and what of it the library does not know. */
interface Loaded {
  /** Of the file; another one says that it was written anew. */
  readonly version: string;
  readonly config: KubeConfig;
  readonly server: string;
  readonly tokenFile: string | undefined;
}

async function loadContext(file: string, context: string | undefined): Promise<Loaded> {
  const version = await versionOf(file);
  const config = await load(file);
  if (context !== undefined) config.setCurrentContext(context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    const contexts = config.getContexts().map((known) => known.name);
    throw new KubeconfigError(
      file,
      `context "${config.getCurrentContext()}" names no cluster; it has ${contexts.join(", ") || "none"}`,
    );
  }
  if (!cluster.server.startsWith("https://")) {
    throw new KubeconfigError(
      file,
      `the server ${cluster.server} is not https: a token would travel in the clear`,
    );
  }
  if (cluster.skipTLSVerify) {
    throw new KubeconfigError(
      file,
      "insecure-skip-tls-verify is refused: give the cluster's certificate-authority",
    );
  }
  if (config.getCurrentUser()?.impersonateUser !== undefined) {
    throw new KubeconfigError(file, "impersonation is not supported: give the identity a sign-in of its own");
  }
  const tokenFile = await tokenFileOf(file, config.getCurrentUser()?.name);
  return { version, config, server: cluster.server.replace(/\/+$/, ""), tokenFile };
}

async function versionOf(file: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(file);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "unreadable";
  }
}

async function load(file: string): Promise<KubeConfig> {
  try {
    await readFile(file);
  } catch (cause) {
    throw new KubeconfigError(file, `cannot be read (${errorCode(cause)})`, cause);
  }
  // 60 MiB, which a relay whose clusters file names no kubeconfig does without.
  const { KubeConfig } = await import("#cli/kube-config.ts");
  try {
    const config = new KubeConfig();
    config.loadFromFile(file);
    return config;
  } catch (cause) {
    throw new KubeconfigError(file, "is not a kubeconfig: clusters, users and contexts are expected", cause);
  }
}

const UsersWithTokenFiles = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});

/** The file that the user signs in with where its entry has `tokenFile`, which kubectl reads and the library does not. */
async function tokenFileOf(file: string, userName: string | undefined): Promise<string | undefined> {
  const { users } = UsersWithTokenFiles.parse(parse(await readFile(file, "utf8")));
  const tokenFile = users?.find(({ name }) => name === userName)?.user?.tokenFile;
  return tokenFile === undefined ? undefined : resolve(dirname(file), tokenFile);
}

async function credentialsOf(file: string, { config, tokenFile }: Loaded): Promise<Credentials> {
  const options = await requestOptions(config, file);
  const [certificateAuthority, certificate, key] = [pem(options.ca), pem(options.cert), pem(options.key)];
  const clientCertificate = certificate === undefined || key === undefined ? undefined : { certificate, key };
  return {
    tls: { certificateAuthority, clientCertificate },
    header: tokenFile === undefined ? headerOf(options) : await bearerOf(file, tokenFile),
  };
}

async function bearerOf(file: string, tokenFile: string): Promise<string> {
  try {
    return `Bearer ${(await readFile(tokenFile, "utf8")).trim()}`;
  } catch (cause) {
    throw new KubeconfigError(
      file,
      `its token file ${tokenFile} cannot be read (${errorCode(cause)})`,
      cause,
    );
  }
}

/** An exec plugin that has not answered by then is not waited for: whoever opens a connection waits for it, and all others with him. */
const SIGN_IN_TIMEOUT_MS = 30_000;

async function requestOptions(config: KubeConfig, file: string): Promise<RequestOptions> {
  const options: RequestOptions = {};
  let timer: NodeJS.Timeout | undefined;
  try {
    const timeout = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("time-out")), SIGN_IN_TIMEOUT_MS);
    });
    await Promise.race([config.applyToHTTPSOptions(options), timeout]);
  } catch (cause) {
    // An exec plugin's own words may hold what it was given; its exit is all that is said here.
    throw new KubeconfigError(
      file,
      "signing in as its user failed: run its exec plugin or read its files by hand",
      cause,
    );
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

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

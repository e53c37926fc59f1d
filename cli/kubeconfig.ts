import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { dirname, resolve } from "node:path";
import type { KubeConfig } from "@kubernetes/client-node";
import { parse } from "yaml";
import * as z from "zod";
import type { Authorization } from "#kube/client/transport.ts";

/** Milliseconds for which a credential is used before the kubeconfig is asked again; a 401 asks at once. */
const REMEMBER_MS = 10_000;

/** What a kubeconfig's context comes to: where the API server is and how to sign in. */
export interface KubeconfigAccess {
  readonly server: string;
  /** PEM. */
  readonly certificateAuthority?: string;
  /** PEM. */
  readonly clientCertificate?: { readonly certificate: string; readonly key: string };
  /** Asks the kubeconfig's token, token file, exec plugin or OIDC provider, at most every ten seconds. */
  readonly authorization: Authorization;
}

/** Why a kubeconfig cannot be used. */
export class KubeconfigError extends Error {
  readonly code = "KUBECONFIG";
  readonly file: string;

  constructor(file: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "KubeconfigError";
    this.file = file;
  }
}

/** Reads a kubeconfig's current (or the named) context; rejects with `KubeconfigError`, which never quotes the file. */
export async function readKubeconfig(file: string, context?: string): Promise<KubeconfigAccess> {
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
  const tls = await requestOptions(config, file);
  const tokenFile = await tokenFileOf(file, config.getCurrentUser()?.name);
  // What is missing is to be known at the start.
  if (tokenFile !== undefined) await bearerOf(file, tokenFile);
  const [certificateAuthority, certificate, key] = [pem(tls.ca), pem(tls.cert), pem(tls.key)];
  return {
    server: cluster.server.replace(/\/+$/, ""),
    ...(certificateAuthority === undefined ? {} : { certificateAuthority }),
    ...(certificate === undefined || key === undefined ? {} : { clientCertificate: { certificate, key } }),
    authorization: remembered(async () =>
      tokenFile === undefined
        ? authorizationOf(await requestOptions(config, file))
        : bearerOf(file, tokenFile),
    ),
  };
}

// The library reads the kubeconfig's files again on every call, which a burst of patches would do by the thousand.
function remembered(ask: Authorization): Authorization {
  let answer: Promise<string | undefined> | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  return (_signal, options) => {
    if (answer === undefined || options?.fresh || performance.now() - askedAt > REMEMBER_MS) {
      askedAt = performance.now();
      answer = ask();
      answer.catch(() => {
        answer = undefined;
      });
    }
    return answer;
  };
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

async function requestOptions(config: KubeConfig, file: string): Promise<RequestOptions> {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (cause) {
    // An exec plugin's own words may hold what it was given; its exit is all that is said here.
    throw new KubeconfigError(
      file,
      "signing in as its user failed: run its exec plugin or read its files by hand",
      cause,
    );
  }
  return options;
}

function authorizationOf(options: RequestOptions): string | undefined {
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

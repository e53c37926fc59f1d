import * as z from "zod";
import { isServerName } from "#config/cluster.ts";
import type { KubeconfigPower } from "#config/sign-in/kinds.ts";
import { createPairReading, type Material, readJwtExpiry, refuseEnded } from "#config/sign-in/material.ts";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";
import type { Reading } from "#platforms/keep-fresh.ts";
import { formatReference, type SecretReference } from "#platforms/secrets/reference.ts";
import { SecretError } from "#platforms/secrets/secret-error.ts";

/** The kubeconfig to read and what it may use. */
export interface StaticKubeconfig {
  readonly from: SecretReference;
  /** Default: the current context. */
  readonly context?: string | undefined;
  readonly allow?: readonly KubeconfigPower[] | undefined;
  /**
   * The server in the cluster's entry, which is connected to, and its TLS name if it differs from the
   * address.
   */
  readonly server: string;
  readonly tlsServerName?: string | undefined;
}

/**
 * Reads the static content of a kubeconfig's context: a token, or a client certificate and its key, and the
 * API server's authority. Rejects everything that needs a command, a file or further trust. Throws
 * `SecretError`, which quotes nothing of the kubeconfig.
 */
export function readKubeconfigMaterial(
  text: string,
  kubeconfig: StaticKubeconfig,
  now: number,
): Reading<Material> {
  const where = `the kubeconfig in ${formatReference(kubeconfig.from)}`;
  const { cluster, user } = selectContext(text, kubeconfig.context, where);
  const faults = listRejections(cluster, user, kubeconfig);
  if (faults.length > 0) throw new SecretError("SecretInvalid", `${where}: ${faults.join("; ")}`);
  const authority = decodePem(cluster["certificate-authority-data"]);
  const tls = {
    ...(authority === undefined ? {} : { certificateAuthority: authority }),
    ...(cluster["tls-server-name"] === undefined ? {} : { serverName: cluster["tls-server-name"] }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { skipsVerification: true } : {}),
  };
  const [certificate, key] = [decodePem(user["client-certificate-data"]), decodePem(user["client-key-data"])];
  const token = user.token?.trim();
  if (token) {
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new SecretError("SecretInvalid", `${where}: its token has spaces or lines`);
    const endsAt = readJwtExpiry(token);
    refuseEnded(`the token in ${where}`, endsAt, now);
    return { value: { header: `Bearer ${token}`, tls }, endsAt };
  }
  if (certificate === undefined || key === undefined)
    throw new SecretError(
      "SecretInvalid",
      `${where}: its user has neither a token nor client-certificate-data and client-key-data`,
    );
  const { value, endsAt } = createPairReading({ certificate, key }, where, now);
  return { value: { tls: { ...tls, ...value.tls } }, endsAt };
}

const OptionalText = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const OptionalUnknown = z.unknown().optional();

const ClusterPart = z.object({
  server: z.string(),
  "certificate-authority": OptionalText,
  "certificate-authority-data": OptionalText,
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "proxy-url": OptionalText,
  "tls-server-name": OptionalText,
});
const UserPart = z.object({
  token: OptionalText,
  "client-certificate-data": OptionalText,
  "client-key-data": OptionalText,
  tokenFile: OptionalText,
  "token-file": OptionalText,
  "client-certificate": OptionalText,
  "client-key": OptionalText,
  username: OptionalText,
  password: OptionalText,
  as: OptionalText,
  "as-uid": OptionalText,
  "as-groups": OptionalUnknown,
  "as-user-extra": OptionalUnknown,
  exec: OptionalUnknown,
  "auth-provider": OptionalUnknown,
});
type ClusterPart = z.output<typeof ClusterPart>;
type UserPart = z.output<typeof UserPart>;

const Kubeconfig = z.object({
  "current-context": OptionalText,
  contexts: z.array(
    z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(z.object({ name: z.string(), cluster: ClusterPart })),
  users: z.array(z.object({ name: z.string(), user: UserPart })),
});

function selectContext(
  written: string,
  wanted: string | undefined,
  where: string,
): { readonly cluster: ClusterPart; readonly user: UserPart } {
  if (isTooMuchYaml(written))
    throw new SecretError("SecretInvalid", `${where} is larger than any kubeconfig`);
  const yaml = parseYaml(written);
  const parsed = yaml.kind === "value" ? Kubeconfig.safeParse(yaml.value) : undefined;
  if (parsed?.success !== true)
    throw new SecretError(
      "SecretInvalid",
      `${where} is not a kubeconfig: clusters, users and contexts are expected`,
    );
  const { contexts, clusters, users, "current-context": current } = parsed.data;
  const name = wanted ?? current;
  const context = contexts.find((each) => each.name === name)?.context;
  const cluster = clusters.find((each) => each.name === context?.cluster)?.cluster;
  const user = users.find((each) => each.name === context?.user)?.user;
  if (cluster !== undefined && user !== undefined) return { cluster, user };
  const which = wanted === undefined ? "its current-context" : "the context that the entry names";
  throw new SecretError("SecretInvalid", `${where}: ${which} has no cluster and user there`);
}

/** Returns why a kubeconfig in a secret is rejected, by key. */
function listRejections(
  cluster: ClusterPart,
  user: UserPart,
  { allow = [], server, tlsServerName }: StaticKubeconfig,
): string[] {
  const all: Readonly<Record<string, unknown>> = { ...cluster, ...user };
  const faults = Object.entries(NEVER).flatMap(([reason, keys]) => {
    const found = keys.filter((key) => all[key] !== undefined && all[key] !== null);
    return found.length === 0 ? [] : [`${found.join(", ")} refused: ${reason}`];
  });
  if (cluster["insecure-skip-tls-verify"] === true && !allow.includes("insecure-skip-tls-verify"))
    faults.push(
      "insecure-skip-tls-verify refused: anybody could take the API server's place; give its certificate-authority-data, or allow it in the cluster's entry",
    );
  if (!isSame(cluster.server, server) && !allow.includes("server"))
    faults.push(
      "server refused: it is another than the entry's, which is the one that is connected to; make the two the same, or allow it in the cluster's entry",
    );
  const name = cluster["tls-server-name"];
  if (name !== undefined && !isServerName(name, { server, tlsServerName }) && !allow.includes("server"))
    faults.push(
      "tls-server-name refused: it is another than the entry's tlsServerName, by which the server is asked for; make the two the same, or allow it (server) in the cluster's entry",
    );
  return faults;
}

/** Keys that are never followed, with the reason. */
const NEVER: Readonly<Record<string, readonly string[]>> = {
  "nothing is run; put a token or a client certificate there": ["exec", "auth-provider"],
  "no file is read; put there what it holds (…-data, token)": [
    "certificate-authority",
    "client-certificate",
    "client-key",
    "tokenFile",
    "token-file",
  ],
  "API servers know no passwords": ["username", "password"],
  "the identity is to have a sign-in of its own": ["as", "as-uid", "as-groups", "as-user-extra"],
  "the API server is connected to directly": ["proxy-url"],
};

function isSame(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && canonicalizeUrl(one) === canonicalizeUrl(other);
}

function canonicalizeUrl(server: string): string {
  const { origin, pathname } = new URL(server);
  return `${origin}${pathname.replace(/(?<!\/)\/+$/, "")}`;
}

function decodePem(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
}

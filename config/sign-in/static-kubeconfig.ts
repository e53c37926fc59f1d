import * as z from "zod";
import type { Reading } from "#clouds/keep-fresh.ts";
import { referenceWords, type SecretReference } from "#clouds/secrets/reference.ts";
import { SecretError } from "#clouds/secrets/secret-error.ts";
import { isServerName } from "#config/cluster.ts";
import { jwtEnd } from "#config/sign-in/jwt-end.ts";
import type { KubeconfigPower } from "#config/sign-in/kinds.ts";
import { type Material, pairReading, refuseEnded } from "#config/sign-in/material.ts";
import { isTooMuchYaml, parseYaml } from "#config/yaml-text.ts";

/** Which kubeconfig is read, and what it may ask for. */
export interface StaticKubeconfig {
  readonly from: SecretReference;
  /** The current one without it. */
  readonly context?: string | undefined;
  readonly allow?: readonly KubeconfigPower[] | undefined;
  /** Of the cluster's entry: the one that is connected to, and its name where that is not the one of its address. */
  readonly server: string;
  readonly tlsServerName?: string | undefined;
}

/**
 * What the context of a kubeconfig holds by itself: a token, or a client certificate and its key, and the API server's authority.
 * Whatever would have to be run, read or trusted beyond that is refused. Throws `SecretError`, which quotes nothing of it.
 */
export function kubeconfigMaterial(text: string, how: StaticKubeconfig, now: number): Reading<Material> {
  const where = `the kubeconfig in ${referenceWords(how.from)}`;
  const { cluster, user } = contextOf(text, how.context, where);
  const faults = refusals(cluster, user, how);
  if (faults.length > 0) throw new SecretError("SecretInvalid", `${where}: ${faults.join("; ")}`);
  const authority = pemOf(cluster["certificate-authority-data"]);
  const tls = {
    ...(authority === undefined ? {} : { certificateAuthority: authority }),
    ...(cluster["tls-server-name"] === undefined ? {} : { serverName: cluster["tls-server-name"] }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { skipsVerification: true } : {}),
  };
  const [certificate, key] = [pemOf(user["client-certificate-data"]), pemOf(user["client-key-data"])];
  const token = user.token?.trim();
  if (token) {
    if (!/^[\x21-\x7e]+$/.test(token))
      throw new SecretError("SecretInvalid", `${where}: its token has spaces or lines`);
    const endsAt = jwtEnd(token);
    refuseEnded(`the token in ${where}`, endsAt, now);
    return { value: { header: `Bearer ${token}`, tls }, endsAt };
  }
  if (certificate === undefined || key === undefined)
    throw new SecretError(
      "SecretInvalid",
      `${where}: its user has neither a token nor client-certificate-data and client-key-data`,
    );
  const { value, endsAt } = pairReading({ certificate, key }, where, now);
  return { value: { tls: { ...tls, ...value.tls } }, endsAt };
}

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);
const anything = z.unknown().optional();

const ClusterPart = z.object({
  server: z.string(),
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": z.boolean().nullish(),
  "proxy-url": text,
  "tls-server-name": text,
});
const UserPart = z.object({
  token: text,
  "client-certificate-data": text,
  "client-key-data": text,
  tokenFile: text,
  "token-file": text,
  "client-certificate": text,
  "client-key": text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": anything,
  "as-user-extra": anything,
  exec: anything,
  "auth-provider": anything,
});
type ClusterPart = z.output<typeof ClusterPart>;
type UserPart = z.output<typeof UserPart>;

const Kubeconfig = z.object({
  "current-context": text,
  contexts: z.array(
    z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) }),
  ),
  clusters: z.array(z.object({ name: z.string(), cluster: ClusterPart })),
  users: z.array(z.object({ name: z.string(), user: UserPart })),
});

function contextOf(
  written: string,
  wanted: string | undefined,
  where: string,
): { readonly cluster: ClusterPart; readonly user: UserPart } {
  if (isTooMuchYaml(written))
    throw new SecretError("SecretInvalid", `${where} is larger than any kubeconfig`);
  const yaml = parseYaml(written);
  const parsed = yaml.kind === "value" ? Kubeconfig.safeParse(yaml.value) : undefined;
  if (parsed?.success !== true)
    throw new SecretError("SecretInvalid", `${where} is none: clusters, users and contexts are expected`);
  const { contexts, clusters, users, "current-context": current } = parsed.data;
  const name = wanted ?? current;
  const context = contexts.find((each) => each.name === name)?.context;
  const cluster = clusters.find((each) => each.name === context?.cluster)?.cluster;
  const user = users.find((each) => each.name === context?.user)?.user;
  if (cluster !== undefined && user !== undefined) return { cluster, user };
  const which = wanted === undefined ? "its current-context" : "the context that the entry names";
  throw new SecretError("SecretInvalid", `${where}: ${which} has no cluster and user there`);
}

/** What is refused of a kubeconfig that is kept as a secret, by its keys. */
function refusals(
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

/** Never followed, by the reason. */
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
  return URL.canParse(one) && URL.canParse(other) && canonical(one) === canonical(other);
}

function canonical(server: string): string {
  const { origin, pathname } = new URL(server);
  return `${origin}${pathname.replace(/(?<!\/)\/+$/, "")}`;
}

function pemOf(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
}

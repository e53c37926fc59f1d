import * as z from "zod";
import { type Cluster, isServerName } from "#config/cluster.ts";
import { KUBECONFIG_POWERS, type KubeconfigPower } from "#config/sign-in/kinds.ts";

/**
 * The trust in a kubeconfig: what it may do besides holding credentials, and which API server it may name.
 */
export interface KubeconfigTrust {
  readonly allow: ReadonlySet<KubeconfigPower>;
  /** The server of the cluster's entry; undefined allows any. */
  readonly server: string | undefined;
  /** The name of the entry's server, if it differs from its address. */
  readonly tlsServerName?: string | undefined;
}

/** The trust in the operator's own kubeconfig, given by flag: it may do everything but skip verification. */
export const OWN_KUBECONFIG: KubeconfigTrust = {
  allow: new Set(KUBECONFIG_POWERS.filter((power) => power !== "insecure-skip-tls-verify")),
  server: undefined,
};

/**
 * Builds the trust in a kubeconfig that a clusters file names. It may be the tenant's, and may do what its
 * entry allows.
 */
export function buildTrust(
  { server, tlsServerName }: Pick<Cluster, "server" | "tlsServerName">,
  allow: readonly KubeconfigPower[],
): KubeconfigTrust {
  return { allow: new Set(allow), server, tlsServerName };
}

const text = z
  .string()
  .nullish()
  .transform((value) => value || undefined);

/** What a kubeconfig's context requires, by the names of the library that acts on it. */
export const KubeconfigDemands = z.object({
  server: z.string(),
  tlsServerName: text,
  caFile: text,
  skipTLSVerify: z.boolean().nullish(),
  proxyUrl: text,
  certFile: text,
  keyFile: text,
  tokenFile: text,
  exec: z.unknown(),
  authProvider: z.unknown(),
  impersonateUser: text,
});
export type KubeconfigDemands = z.output<typeof KubeconfigDemands>;

/**
 * Returns why a kubeconfig's demands are refused, with their keys; undefined if none is. Nothing of them has
 * been executed yet.
 */
export function findRefusal(demands: KubeconfigDemands, trust: KubeconfigTrust): string | undefined {
  if (!demands.server.startsWith("https://"))
    return "its server is not https: a token would travel in the clear";
  if (demands.proxyUrl !== undefined)
    return "proxy-url is not supported: the API server is connected to directly";
  if (demands.impersonateUser !== undefined)
    return "impersonation (as) is not supported: give the identity a sign-in of its own";
  const powers = POWERS.filter(
    ({ power, keys }) => !trust.allow.has(power) && keys(demands, trust).length > 0,
  );
  if (powers.length === 0) return undefined;
  return powers
    .map(({ keys, power, instead }) => formatRefusal(keys(demands, trust), power, instead, trust))
    .join("; ");
}

interface Power {
  readonly power: KubeconfigPower;
  /** Returns the keys that demand it. */
  readonly keys: (demands: KubeconfigDemands, trust: KubeconfigTrust) => readonly string[];
  /** What to write instead. */
  readonly instead: string;
}

const POWERS: readonly Power[] = [
  {
    power: "exec",
    keys: ({ exec }) => (exec ? ["exec"] : []),
    instead: "it names a program to be run; use a token or a client certificate",
  },
  {
    power: "auth-provider",
    keys: ({ authProvider }) => (authProvider ? ["auth-provider"] : []),
    instead: "it may name a program to be run; use a token or a client certificate",
  },
  {
    power: "files",
    keys: ({ caFile, certFile, keyFile, tokenFile }) =>
      Object.entries({
        "certificate-authority": caFile,
        "client-certificate": certFile,
        "client-key": keyFile,
        tokenFile,
      }).flatMap(([key, file]) => (file ? [key] : [])),
    instead: "it names a file of this machine; put what that holds into the kubeconfig (…-data, token)",
  },
  {
    power: "insecure-skip-tls-verify",
    keys: ({ skipTLSVerify }) => (skipTLSVerify ? ["insecure-skip-tls-verify"] : []),
    instead: "any server could pretend to be the API server; give its certificate-authority-data",
  },
  {
    power: "server",
    keys({ server, tlsServerName }, { server: own, tlsServerName: ownName }) {
      if (own === undefined) return [];
      const entry = { server: own, tlsServerName: ownName };
      const isOtherName = tlsServerName !== undefined && !isServerName(tlsServerName, entry);
      return [...(isSame(server, own) ? [] : ["server"]), ...(isOtherName ? ["tls-server-name"] : [])];
    },
    instead: "it is another than the entry's, which is the one that is connected to; make the two the same",
  },
];

function formatRefusal(
  keys: readonly string[],
  power: string,
  instead: string,
  trust: KubeconfigTrust,
): string {
  const allowing =
    trust.server === undefined
      ? ""
      : `, or allow it by signIn.relay.allow: [${power}] in the cluster's entry`;
  return `${keys.join(", ")} ${keys.length > 1 ? "are" : "is"} refused: ${instead}${allowing}`;
}

function isSame(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && canonicalize(one) === canonicalize(other);
}

function canonicalize(server: string): string {
  const { origin, pathname } = new URL(server);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
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

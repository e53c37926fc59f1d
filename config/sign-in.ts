import { pemOfData } from "#config/certificate-authority-data.ts";
import type { Cluster } from "#config/cluster.ts";
import type { ReadSignIn } from "#config/sign-in/by-reading.ts";
import { SignInError, type SignInSubject } from "#config/sign-in/error.ts";
import { orLast, readPair, readPem, tokenFile } from "#config/sign-in/files.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ReadTls } from "#kube/client/connect.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Authorization } from "#kube/client/transport.ts";

/** Who signs in to a cluster: the relay, one of the functions, or `functions`: a function that need not say which. */
export type SignInRole = keyof Cluster["signIn"];

/** The key of an entry's `signIn` by which the role signs in: its own, or that of all functions; undefined where there is none. */
export function signInKeyOf({ signIn }: Pick<Cluster, "signIn">, role: SignInRole): SignInRole | undefined {
  const keys: readonly SignInRole[] = role === "relay" ? ["relay"] : [role, "functions"];
  return keys.find((key) => signIn[key] !== undefined);
}

/** As whom a function of this name signs in; as one of all functions where the name is not among ours. */
export function signInRoleOf(functionName: string): SignInRole {
  return FUNCTION_IDENTITIES.find((name) => name === functionName) ?? "functions";
}

/** What `connect` needs beside the server. */
export interface SignedIn {
  /** Reads authority and client certificate anew for each connection, as files are rotated. */
  readonly tls: ReadTls;
  readonly authorization?: Authorization;
}

/**
 * Gets what the role signs in with from where the cluster's entry says, once, so that what is missing is known at the start. Rejects
 * with `SignInError`.
 */
export async function signIn(
  cluster: Cluster,
  role: SignInRole,
  options: { readonly now?: () => number } = {},
): Promise<SignedIn> {
  const key = signInKeyOf(cluster, role);
  const about = { cluster: cluster.name, role, key: key ?? role };
  const how = key === undefined ? undefined : cluster.signIn[key];
  if (how === undefined)
    throw new SignInError(
      "NotConfigured",
      about,
      `there is none; add ${keysOf(role)} to the cluster's entry`,
    );
  const readAuthority = authorityOf(cluster, about);
  const { readTls, authorization } = await identity(how, about, cluster, options.now ?? Date.now);
  const tls: ReadTls = async ({ fresh = false } = {}) => {
    const own = {
      certificateAuthority: undefined,
      clientCertificate: undefined,
      ...(await readTls?.(fresh)),
      ...serverNameOf(cluster),
    };
    if (readAuthority === undefined) return own;
    // By the authority that the entry names, whatever a kubeconfig says.
    const { skipsVerification: _, ...verified } = own;
    return { ...verified, certificateAuthority: await readAuthority(fresh) };
  };
  await tls();
  await authorization?.();
  return { tls, ...(authorization === undefined ? {} : { authorization }) };
}

/** The name that the entry says its server has, as connections are opened with it. */
export function serverNameOf({ tlsServerName }: Pick<Cluster, "tlsServerName">): TlsCredentials {
  return tlsServerName === undefined ? {} : { serverName: tlsServerName };
}

/** How the authority of a cluster's entry is read for each connection; undefined where it names none. Rejects with `SignInError`. */
export async function readAuthority(cluster: Cluster, role: SignInRole): Promise<ReadTls | undefined> {
  const read = authorityOf(cluster, { cluster: cluster.name, role, key: role });
  if (read === undefined) return undefined;
  await read(false);
  return async ({ fresh = false } = {}) => ({ certificateAuthority: await read(fresh) });
}

function authorityOf(
  { certificateAuthorityFile, certificateAuthorityData }: Cluster,
  about: SignInSubject,
): ((fresh: boolean) => Promise<string>) | undefined {
  if (certificateAuthorityData !== undefined) return async () => pemOfData(certificateAuthorityData);
  if (certificateAuthorityFile === undefined) return undefined;
  return orLast(() => readPem(certificateAuthorityFile, "CERTIFICATE", about));
}

function keysOf(role: SignInRole): string {
  return role === "relay" || role === "functions" ? `signIn.${role}` : `signIn.${role} or signIn.functions`;
}

interface Identity {
  readonly authorization?: Authorization;
  readonly readTls?: (fresh: boolean) => Promise<TlsCredentials>;
}

async function identity(
  how: SignIn,
  about: SignInSubject,
  cluster: Cluster,
  now: () => number,
): Promise<Identity> {
  const byReading = async (read: ReadSignIn): Promise<Identity> => {
    // Not for those who need none of it.
    const { signInByReading } = await import("#config/sign-in/by-reading.ts");
    return signInByReading(read, cluster, about, now);
  };
  switch (how.kind) {
    case "token-file":
      return { authorization: tokenFile(how.file, about, now) };
    case "client-certificate": {
      const { certificateFile = "", keyFile = "", from } = how;
      if (from !== undefined) return byReading({ ...how, from });
      const read = orLast(() => readPair({ certificateFile, keyFile }, about));
      return { readTls: async (fresh) => ({ clientCertificate: await read(fresh) }) };
    }
    case "kubeconfig":
      if (how.from !== undefined) return byReading({ ...how, from: how.from });
      throw new SignInError(
        "NotSupported",
        about,
        `kubeconfig files are for the command line; use token-file or client-certificate in signIn.${about.key}, or keep the kubeconfig as a secret (from)`,
        how.file,
      );
    case "token":
    case "eks":
    case "web-identity":
      return byReading(how);
    case "minted-token":
      throw new SignInError(
        "NotSupported",
        about,
        `its token is minted with an administrator's kubeconfig, which no function gets; give signIn.${about.key} a way without a stored secret`,
      );
  }
}

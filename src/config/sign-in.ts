import { decodeCertificateAuthorityData } from "#config/certificate-authority-data.ts";
import type { Cluster } from "#config/cluster.ts";
import { SignInError, type SignInRole, type SignInSubject } from "#config/sign-in/error.ts";
import { createCachedReader, createTokenFileReader, readPair, readPem } from "#config/sign-in/files.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import type { ReadSignIn } from "#config/sign-in/read-identity.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ReadTls } from "#kube/client/connect.ts";
import type { TlsCredentials } from "#kube/client/connection.ts";
import type { Authorization } from "#kube/client/transport.ts";

/**
 * Returns the key in an entry's `signIn` for a role: its own, or `functions`. Undefined if neither is
 * configured.
 */
export function selectSignInKey(
  { signIn }: Pick<Cluster, "signIn">,
  role: SignInRole,
): SignInRole | undefined {
  const keys: readonly SignInRole[] = role === "relay" ? ["relay"] : [role, "functions"];
  return keys.find((key) => signIn[key] !== undefined);
}

/** Returns the role with which a function of this name signs in; `functions` for an unknown name. */
export function getSignInRole(functionName: string): SignInRole {
  return FUNCTION_IDENTITIES.find((name) => name === functionName) ?? "functions";
}

/** The options of `connect` besides the server. */
export interface SignInOptions {
  /** Reads authority and client certificate again for each connection, because files are rotated. */
  readonly tls: ReadTls;
  readonly authorization?: Authorization;
}

/**
 * Gets the credentials of a role from the source in the cluster's entry. It reads once at the start to report
 * what is missing. Rejects with `SignInError`.
 */
export async function signIn(
  cluster: Cluster,
  role: SignInRole,
  options: { readonly now?: () => number } = {},
): Promise<SignInOptions> {
  const key = selectSignInKey(cluster, role);
  const about = { cluster: cluster.name, role, key: key ?? role };
  const signInMethod = key === undefined ? undefined : cluster.signIn[key];
  if (signInMethod === undefined)
    throw new SignInError(
      "NotConfigured",
      about,
      `the sign-in is missing; add ${formatSignInKeys(role)} to the cluster's entry`,
    );
  const readAuthority = createAuthorityReader(cluster, about);
  const { readTls, authorization } = await createIdentity(
    signInMethod,
    about,
    cluster,
    options.now ?? Date.now,
  );
  const tls: ReadTls = async ({ fresh = false } = {}) => {
    const own = {
      certificateAuthority: undefined,
      clientCertificate: undefined,
      ...(await readTls?.(fresh)),
      ...selectServerName(cluster),
    };
    if (readAuthority === undefined) return own;
    // The authority in the entry applies, whatever a kubeconfig says.
    const { skipsVerification: _, ...verified } = own;
    return { ...verified, certificateAuthority: await readAuthority(fresh) };
  };
  await tls();
  await authorization?.();
  return { tls, ...(authorization === undefined ? {} : { authorization }) };
}

/** Returns the TLS server name in the entry, in the form that connections need. */
export function selectServerName({ tlsServerName }: Pick<Cluster, "tlsServerName">): TlsCredentials {
  return tlsServerName === undefined ? {} : { serverName: tlsServerName };
}

/**
 * Returns a reader of the cluster's authority for each connection; undefined if the entry names none. Rejects
 * with `SignInError`.
 */
export async function readAuthority(cluster: Cluster, role: SignInRole): Promise<ReadTls | undefined> {
  const read = createAuthorityReader(cluster, { cluster: cluster.name, role, key: role });
  if (read === undefined) return undefined;
  await read(false);
  return async ({ fresh = false } = {}) => ({ certificateAuthority: await read(fresh) });
}

function createAuthorityReader(
  { certificateAuthorityFile, certificateAuthorityData }: Cluster,
  about: SignInSubject,
): ((fresh: boolean) => Promise<string>) | undefined {
  if (certificateAuthorityData !== undefined)
    return async () => decodeCertificateAuthorityData(certificateAuthorityData);
  if (certificateAuthorityFile === undefined) return undefined;
  return createCachedReader(() => readPem(certificateAuthorityFile, "CERTIFICATE", about));
}

function formatSignInKeys(role: SignInRole): string {
  return role === "relay" || role === "functions" ? `signIn.${role}` : `signIn.${role} or signIn.functions`;
}

interface Identity {
  readonly authorization?: Authorization;
  readonly readTls?: (fresh: boolean) => Promise<TlsCredentials>;
}

async function createIdentity(
  signInMethod: SignIn,
  about: SignInSubject,
  cluster: Cluster,
  now: () => number,
): Promise<Identity> {
  const byReading = async (read: ReadSignIn): Promise<Identity> => {
    // Loaded only when an entry needs it.
    const { signInByReading } = await import("#config/sign-in/read-identity.ts");
    return signInByReading(read, cluster, about, now);
  };
  switch (signInMethod.kind) {
    case "token-file":
      return { authorization: createTokenFileReader(signInMethod.file, about, now) };
    case "client-certificate": {
      const { certificateFile = "", keyFile = "", from } = signInMethod;
      if (from !== undefined) return byReading({ ...signInMethod, from });
      const read = createCachedReader(() => readPair({ certificateFile, keyFile }, about));
      return { readTls: async (fresh) => ({ clientCertificate: await read(fresh) }) };
    }
    case "kubeconfig":
      if (signInMethod.from !== undefined) return byReading({ ...signInMethod, from: signInMethod.from });
      throw new SignInError(
        "NotSupported",
        about,
        `kubeconfig files are for the command line; use token-file or client-certificate in signIn.${about.key}, or keep the kubeconfig as a secret (from)`,
        signInMethod.file,
      );
    case "token":
    case "eks":
    case "web-identity":
      return byReading(signInMethod);
    case "minted-token":
      throw new SignInError(
        "NotSupported",
        about,
        `its token is minted with an administrator's kubeconfig, which no function gets; give signIn.${about.key} a way without a stored secret`,
      );
  }
}

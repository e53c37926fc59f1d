import { connectExplained } from "#cli/clusters/explain-refusal.ts";
import { readKubeconfig } from "#cli/clusters/kubeconfig.ts";
import { buildTrust, KubeconfigError } from "#cli/clusters/kubeconfig-trust.ts";
import { connectManagement } from "#cli/clusters/management-cluster.ts";
import { type AddressRules, createAddressJudge } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { MintError, mintToken } from "#config/registry/kubernetes/mint-token.ts";
import { SignInError, type SignInRole } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { readAuthority, selectServerName, selectSignInKey, signIn } from "#config/sign-in.ts";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { formatUser, IDENTITIES } from "#core/identities.ts";
import type { ConnectOptions, ReadTls } from "#kube/client/connect.ts";
import { createSemaphore, NO_LIMIT } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";
import type { NotFollowedReason } from "#relay/cluster-state.ts";

/** Verifies by the certificate authority in the entry, whatever the kubeconfig says. */
const VERIFIED = { skipsVerification: false };

/**
 * Reads an identity's credentials and returns a transport to the cluster's API server; nothing is sent yet.
 *
 * For processes that an operator runs: a kubeconfig may be a file whose plugins are executed, and a token may
 * be minted. No deployed function has these.
 */
export async function connectIdentity(
  cluster: Cluster,
  role: SignInRole,
  rules: AddressRules,
  bounds: Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes"> = {},
): Promise<Transport> {
  const key = selectSignInKey(cluster, role);
  const signInMethod = key === undefined ? undefined : cluster.signIn[key];
  const judgeAddress = createAddressJudge(rules);
  if (signInMethod?.kind === "minted-token") return connectMinted(cluster, role, signInMethod, rules, bounds);
  if (signInMethod?.kind !== "kubeconfig" || signInMethod.file === undefined)
    return connectExplained({
      server: cluster.server,
      judgeAddress,
      ...(await signIn(cluster, role)),
      ...bounds,
    });
  const access = await readKubeconfig(
    signInMethod.file,
    signInMethod.context,
    buildTrust(cluster, signInMethod.allow ?? []),
  );
  const authority = await readAuthority(cluster, role);
  // The entry defines the API server, its name and its certificate authority; the kubeconfig defines the
  // credentials.
  const tls: ReadTls = async (options) => {
    const own = { ...(await access.tls(options)), ...selectServerName(cluster) };
    return authority === undefined ? own : { ...own, ...(await authority(options)), ...VERIFIED };
  };
  return connectExplained({ ...access, judgeAddress, tls, server: cluster.server, ...bounds });
}

/**
 * Connects as a function. Answers to its writes and single reads are bounded by the cluster's limit; the
 * sweep's lists have their own bounds.
 */
export function connectFunction(cluster: Cluster, role: SignInRole, rules: AddressRules): Promise<Transport> {
  const { answerBytes } = cluster.limits;
  const bounds = role === "sweep" ? {} : { maxBodyBytes: answerBytes, maxWriteBodyBytes: answerBytes };
  return connectIdentity(cluster, role, rules, bounds);
}

/** Reads the relay's credentials and returns a transport to the cluster's API server; nothing is sent yet. */
export async function connectRelay(cluster: Cluster, rules: AddressRules): Promise<Transport> {
  return connectIdentity(cluster, "relay", rules);
}

/** Describes why `connectRelay` rejected, for logs and probes. It names files, never their contents. */
export function describeSignInFailure(error: unknown): NotFollowedReason {
  if (error instanceof SignInError) return { code: error.code, message: error.message };
  if (error instanceof KubeconfigError)
    return { code: error.code, message: `kubeconfig ${error.file}: ${error.message}` };
  // The error's own message may quote what was read.
  const name = error instanceof Error ? error.name : typeof error;
  return { code: "SignInFailed", message: `signing in failed unexpectedly (${name})` };
}

/** A sign-in with a token that is minted in the management cluster. */
type MintedSignIn = Extract<SignIn, { readonly kind: "minted-token" }>;

/** A token is requested for an hour. */
const LONGEST_TOKEN_MS = 3_600_000;

/**
 * Limits concurrent minting over all clusters: each takes a connection to the management cluster and one to
 * the cluster itself.
 */
const SEMAPHORE = createSemaphore(() => 16, 100_000);

/**
 * Connects to a cluster as an identity's ServiceAccount, with a minted token that is renewed before it
 * expires. Rejects with `SignInError` if no token can be minted.
 */
export async function connectMinted(
  cluster: Cluster,
  role: SignInRole,
  signInMethod: MintedSignIn,
  rules: AddressRules,
  bounds: Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes"> = {},
): Promise<Transport> {
  const about = { cluster: cluster.name, role, key: role };
  const identity = IDENTITIES.find((each) => each === role);
  if (identity === undefined)
    throw new SignInError(
      "NotSupported",
      about,
      "a token is minted for one function, and not for all of them",
    );
  const [namespace = "", name = ""] = signInMethod.secret.split("/");
  const readAuthorityAnew = await readAuthority(cluster, role);
  const readTls: ReadTls = async (options) => ({
    ...(await readAuthorityAnew?.(options)),
    ...selectServerName(cluster),
  });
  const judgeAddress = createAddressJudge(rules);

  async function mint() {
    await SEMAPHORE.acquire(NO_LIMIT);
    try {
      const minted = await mintToken({
        server: cluster.server.replace(/\/+$/, ""),
        tls: await readTls(),
        secret: { namespace, name, key: signInMethod.key },
        serviceAccount: { namespace: SYSTEM_NAMESPACE, name: formatUser(identity ?? "relay") },
        management: () => connectManagement(signInMethod.management),
        judgeAddress,
      });
      return { value: `Bearer ${minted.token}`, endsAt: minted.expiresAt };
    } catch (error) {
      // Other errors may quote what was read, so their messages are not shown.
      const message = error instanceof MintError ? error.message : "no token could be minted";
      throw new SignInError("SecretUnavailable", about, message, undefined, error);
    } finally {
      SEMAPHORE.release();
    }
  }

  const token = keepFresh(mint, { maxAgeMs: LONGEST_TOKEN_MS });
  await token.get();
  return connectExplained({
    server: cluster.server,
    judgeAddress,
    tls: readTls,
    authorization: (_signal, options) => token.get(options),
    ...bounds,
  });
}

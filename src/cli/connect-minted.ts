import { connectExplained } from "#cli/explain-refusal.ts";
import { connectManagement } from "#cli/management-cluster.ts";
import { type AddressRules, createAddressJudge } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { MintError, mintToken } from "#config/registry/kubernetes/mint-token.ts";
import { SignInError, type SignInRole } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { readAuthority, selectServerName } from "#config/sign-in.ts";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { formatUser, IDENTITIES } from "#core/identities.ts";
import type { ConnectOptions, ReadTls } from "#kube/client/connect.ts";
import { createSemaphore, NO_LIMIT } from "#kube/client/semaphore.ts";
import type { Transport } from "#kube/client/transport.ts";
import { keepFresh } from "#platforms/keep-fresh.ts";

/** A sign-in with a token that is minted in the management cluster. */
export type MintedSignIn = Extract<SignIn, { readonly kind: "minted-token" }>;

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
  how: MintedSignIn,
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
  const [namespace = "", name = ""] = how.secret.split("/");
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
        secret: { namespace, name, key: how.key },
        serviceAccount: { namespace: SYSTEM_NAMESPACE, name: formatUser(identity ?? "relay") },
        management: () => connectManagement(how.management),
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

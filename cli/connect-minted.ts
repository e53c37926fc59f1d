import { connectExplained } from "#cli/explain-refusal.ts";
import { connectManagement } from "#cli/management-cluster.ts";
import { keepFresh } from "#clouds/keep-fresh.ts";
import { type AddressRules, judgeBy } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { MintError, mintToken } from "#config/home/kubernetes/mint-token.ts";
import { SignInError } from "#config/sign-in/error.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { readAuthority, type SignInRole, serverNameOf } from "#config/sign-in.ts";
import { SYSTEM_NAMESPACE } from "#core/contracts.ts";
import { IDENTITIES, userOf } from "#core/identities.ts";
import type { ConnectOptions, ReadTls } from "#kube/client/connect.ts";
import { createSlots, FOR_EVER } from "#kube/client/slots.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Somebody's sign-in by a token that is minted in the management cluster. */
export type MintedSignIn = Extract<SignIn, { readonly kind: "minted-token" }>;

/** A token is asked for an hour. */
const LONGEST_TOKEN_MS = 3_600_000;
/** Tokens that are minted at a time, over all clusters: each takes a connection to the management cluster and one to its own. */
const slots = createSlots(() => 16, 100_000);

/**
 * Connects to a cluster as the ServiceAccount of somebody of ours, by a token that is minted for it and renewed before its end. Rejects
 * with `SignInError` where none can be had.
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
    ...serverNameOf(cluster),
  });
  const judgeAddress = judgeBy(rules);

  async function mint() {
    await slots.enter(FOR_EVER);
    try {
      const minted = await mintToken({
        server: cluster.server.replace(/\/+$/, ""),
        tls: await readTls(),
        secret: { namespace, name, key: how.key },
        serviceAccount: { namespace: SYSTEM_NAMESPACE, name: userOf(identity ?? "relay") },
        management: () => connectManagement(how.management),
        judgeAddress,
      });
      return { value: `Bearer ${minted.token}`, endsAt: minted.expiresAt };
    } catch (error) {
      // Whatever else this is, its own words may hold what was read.
      const message = error instanceof MintError ? error.message : "no token could be minted";
      throw new SignInError("SecretUnavailable", about, message, undefined, error);
    } finally {
      slots.leave();
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

import { connectMinted } from "#cli/connect-minted.ts";
import { connectExplained } from "#cli/explain-refusal.ts";
import { readKubeconfig } from "#cli/kubeconfig.ts";
import { trustOf } from "#cli/kubeconfig-trust.ts";
import { type AddressRules, judgeBy } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { readAuthority, type SignInRole, serverNameOf, signIn, signInKeyOf } from "#config/sign-in.ts";
import type { ConnectOptions, ReadTls } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** By the authority that the entry names, whatever the kubeconfig says. */
const VERIFIED = { skipsVerification: false };

/**
 * Reads what somebody of ours signs in with, and gives the way to the cluster's API server; nothing is sent yet. For processes that an
 * operator runs: here a kubeconfig may be a file whose plugins are run, and a token may be minted, as no deployed function has it.
 */
export async function connectIdentity(
  cluster: Cluster,
  role: SignInRole,
  rules: AddressRules,
  bounds: Pick<ConnectOptions, "maxBodyBytes" | "maxWriteBodyBytes"> = {},
): Promise<Transport> {
  const key = signInKeyOf(cluster, role);
  const how = key === undefined ? undefined : cluster.signIn[key];
  const judgeAddress = judgeBy(rules);
  if (how?.kind === "minted-token") return connectMinted(cluster, role, how, rules, bounds);
  if (how?.kind !== "kubeconfig" || how.file === undefined)
    return connectExplained({
      server: cluster.server,
      judgeAddress,
      ...(await signIn(cluster, role)),
      ...bounds,
    });
  const access = await readKubeconfig(how.file, how.context, trustOf(cluster, how.allow ?? []));
  const authority = await readAuthority(cluster, role);
  // The entry says which API server, and by which name and authority it is known; the kubeconfig says how to sign in.
  const tls: ReadTls = async (options) => {
    const own = { ...(await access.tls(options)), ...serverNameOf(cluster) };
    return authority === undefined ? own : { ...own, ...(await authority(options)), ...VERIFIED };
  };
  return connectExplained({ ...access, judgeAddress, tls, server: cluster.server, ...bounds });
}

/**
 * The same for a function: what it is answered are writes and single reads, and bounded by the cluster's limit of these. The sweep lists,
 * and its lists have bounds of their own.
 */
export function connectFunction(cluster: Cluster, role: SignInRole, rules: AddressRules): Promise<Transport> {
  const { answerBytes } = cluster.limits;
  const bounds = role === "sweep" ? {} : { maxBodyBytes: answerBytes, maxWriteBodyBytes: answerBytes };
  return connectIdentity(cluster, role, rules, bounds);
}

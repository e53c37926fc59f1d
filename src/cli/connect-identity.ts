import { connectMinted } from "#cli/connect-minted.ts";
import { connectExplained } from "#cli/explain-refusal.ts";
import { readKubeconfig } from "#cli/kubeconfig.ts";
import { buildTrust } from "#cli/kubeconfig-trust.ts";
import { type AddressRules, createAddressJudge } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import type { SignInRole } from "#config/sign-in/error.ts";
import { readAuthority, selectServerName, selectSignInKey, signIn } from "#config/sign-in.ts";
import type { ConnectOptions, ReadTls } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

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
  const how = key === undefined ? undefined : cluster.signIn[key];
  const judgeAddress = createAddressJudge(rules);
  if (how?.kind === "minted-token") return connectMinted(cluster, role, how, rules, bounds);
  if (how?.kind !== "kubeconfig" || how.file === undefined)
    return connectExplained({
      server: cluster.server,
      judgeAddress,
      ...(await signIn(cluster, role)),
      ...bounds,
    });
  const access = await readKubeconfig(how.file, how.context, buildTrust(cluster, how.allow ?? []));
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

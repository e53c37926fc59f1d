import { connectMinted } from "#cli/connect-minted.ts";
import { readKubeconfig } from "#cli/kubeconfig.ts";
import { KubeconfigError } from "#cli/kubeconfig-error.ts";
import { trustOf } from "#cli/kubeconfig-trust.ts";
import { type AddressRules, judgeBy } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { SignInError } from "#config/sign-in/error.ts";
import { readAuthority, signIn } from "#config/sign-in.ts";
import { connect, type ReadTls } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ConfigurationFault } from "#relay/followed-cluster.ts";

/** By the authority that the entry names, whatever the kubeconfig says. */
const VERIFIED = { skipsVerification: false };

/** Reads what the relay signs in with, and gives the way to the cluster's API server; nothing is sent yet. */
export async function connectRelay(cluster: Cluster, rules: AddressRules): Promise<Transport> {
  const how = cluster.signIn.relay;
  const judgeAddress = judgeBy(rules);
  if (how?.kind === "minted-token") return connectMinted(cluster, "relay", how, rules);
  if (how?.kind !== "kubeconfig" || how.file === undefined)
    return connect({ server: cluster.server, judgeAddress, ...(await signIn(cluster, "relay")) });
  const access = await readKubeconfig(how.file, how.context, trustOf(cluster, how.allow ?? []));
  const authority = await readAuthority(cluster, "relay");
  // The entry says which API server, and by which authority it is known; the kubeconfig says how to sign in.
  const tls: ReadTls =
    authority === undefined
      ? access.tls
      : async (options) => ({ ...(await access.tls(options)), ...(await authority(options)), ...VERIFIED });
  return connect({ ...access, judgeAddress, tls, server: cluster.server });
}

/** Why `connectRelay` rejected, for logs and probes: it names files, never what stands in them. */
export function signInFaultOf(error: unknown): ConfigurationFault {
  if (error instanceof SignInError) return { code: error.code, message: error.message };
  if (error instanceof KubeconfigError)
    return { code: error.code, message: `kubeconfig ${error.file}: ${error.message}` };
  // Whatever this is, its own words may hold what was read.
  const name = error instanceof Error ? error.name : typeof error;
  return { code: "SignInFailed", message: `signing in failed unexpectedly (${name})` };
}

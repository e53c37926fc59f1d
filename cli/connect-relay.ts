import { connectIdentity } from "#cli/connect-identity.ts";
import { KubeconfigError } from "#cli/kubeconfig-error.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { SignInError } from "#config/sign-in/error.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ConfigurationFault } from "#relay/followed-cluster.ts";

/** Reads what the relay signs in with, and gives the way to the cluster's API server; nothing is sent yet. */
export async function connectRelay(cluster: Cluster, rules: AddressRules): Promise<Transport> {
  return connectIdentity(cluster, "relay", rules);
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

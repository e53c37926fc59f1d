import { connectIdentity } from "#cli/connect-identity.ts";
import { KubeconfigError } from "#cli/kubeconfig-trust.ts";
import type { AddressRules } from "#config/address-rules.ts";
import type { Cluster } from "#config/cluster.ts";
import { SignInError } from "#config/sign-in/error.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ConfigurationFault } from "#relay/followed-cluster.ts";

/** Reads the relay's credentials and returns a transport to the cluster's API server; nothing is sent yet. */
export async function connectRelay(cluster: Cluster, rules: AddressRules): Promise<Transport> {
  return connectIdentity(cluster, "relay", rules);
}

/** Describes why `connectRelay` rejected, for logs and probes. It names files, never their contents. */
export function describeSignInFailure(error: unknown): ConfigurationFault {
  if (error instanceof SignInError) return { code: error.code, message: error.message };
  if (error instanceof KubeconfigError)
    return { code: error.code, message: `kubeconfig ${error.file}: ${error.message}` };
  // The error's own message may quote what was read.
  const name = error instanceof Error ? error.name : typeof error;
  return { code: "SignInFailed", message: `signing in failed unexpectedly (${name})` };
}

import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/**
 * Builds the flags of `run` with which the relay and each function sign in as themselves; `kubeconfig` names
 * files outside the control plane's.
 */
export async function buildIdentityFlags(
  plane: Pick<ControlPlane, "kubeconfig">,
  kubeconfig: ControlPlane["kubeconfig"] = plane.kubeconfig,
): Promise<string[]> {
  const flags = ["--kubeconfig", await kubeconfig("node"), "--relay-kubeconfig", await kubeconfig("relay")];
  for (const name of FUNCTION_IDENTITIES)
    if (name !== "node") flags.push("--function-kubeconfig", `${name}=${await kubeconfig(name)}`);
  return flags;
}

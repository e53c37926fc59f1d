import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/**
 * The flags of `run` with which the relay and each function sign in as themselves; `kubeconfig` says where else theirs are than at
 * the control plane.
 */
export async function identityFlags(
  plane: Pick<ControlPlane, "kubeconfig">,
  kubeconfig: ControlPlane["kubeconfig"] = plane.kubeconfig,
): Promise<string[]> {
  const flags = ["--kubeconfig", await kubeconfig("node"), "--relay-kubeconfig", await kubeconfig("relay")];
  for (const name of FUNCTION_IDENTITIES)
    if (name !== "node") flags.push("--function-kubeconfig", `${name}=${await kubeconfig(name)}`);
  return flags;
}

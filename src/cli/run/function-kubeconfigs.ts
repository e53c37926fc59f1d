import type { KubeconfigAccess } from "#cli/clusters/kubeconfig.ts";
import { readAccess } from "#cli/settings/settings.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { FUNCTION_IDENTITIES, type FunctionIdentity } from "#core/identities.ts";
import { sanitizeText } from "#core/sanitize-text.ts";

const FLAG = "--function-kubeconfig";

/** The kubeconfigs with which functions of `run` sign in themselves; the others use `--kubeconfig`. */
export type FunctionAccess = ReadonlyMap<FunctionIdentity, KubeconfigAccess>;

/**
 * Reads `--function-kubeconfig NAME=FILE`, which may be given once for each function; every fault goes to
 * `faults`.
 */
export async function readFunctionAccess(
  given: readonly string[],
  faults: ConfigurationFault[],
): Promise<FunctionAccess> {
  const files = new Map<FunctionIdentity, string>();
  for (const text of given) {
    const at = text.indexOf("=");
    const name = FUNCTION_IDENTITIES.find((each) => each === text.slice(0, Math.max(at, 0)));
    const file = text.slice(at + 1);
    if (name === undefined || file === "") faults.push({ name: FLAG, message: formatUnusable(text) });
    else if (files.has(name))
      faults.push({ name: FLAG, message: `names ${name} twice; leave one of them out` });
    else files.set(name, file);
  }
  const access = new Map<FunctionIdentity, KubeconfigAccess>();
  for (const [name, file] of files) {
    const read = await readAccess(`${FLAG} ${name}`, file, faults);
    if (read !== undefined) access.set(name, read);
  }
  return access;
}

function formatUnusable(text: string): string {
  return `"${sanitizeText(text)}" names no function and its file; write it as ${FUNCTION_IDENTITIES.join(" or ")}, then = and a kubeconfig`;
}

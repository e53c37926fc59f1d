import { ConfigurationError } from "#cli/configuration-error.ts";
import {
  readClusterNames,
  readFunctionUrl,
  readSigningKey,
  type SignedUrlFlags,
} from "#cli/infra/signed-url-flags.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { signPath } from "#functions/parts/admission/signed-path.ts";
import { derivePublicKey } from "#functions/parts/cluster-signature.ts";

export interface AdmissionUrlFlags extends SignedUrlFlags {
  readonly clusterName?: readonly string[] | undefined;
}

/**
 * Prints the URL at which each cluster's API server calls the function `admission`, or the public key for the
 * function's deployment. Throws `ConfigurationError` with every fault; no fault quotes the private key.
 */
export async function printAdmissionUrls(
  flags: AdmissionUrlFlags,
  print: (text: string) => void,
): Promise<void> {
  const faults: ConfigurationFault[] = [];
  const key = await readSigningKey(flags.signingKey, faults);
  const url = flags.publicKey ? "" : readFunctionUrl(flags.functionUrl, faults);
  const clusters = flags.publicKey ? [] : readClusterNames(flags.clusterName ?? [], faults);
  if (faults.length > 0 || key === undefined) throw new ConfigurationError(faults);
  if (flags.publicKey) print(`${derivePublicKey(key)}\n`);
  for (const cluster of clusters) print(`${url}${signPath(cluster, key)}\n`);
}

import { ConfigurationError } from "#cli/configuration-error.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { signPath } from "#functions/parts/admission/signed-path.ts";
import { derivePublicKey } from "#functions/parts/cluster-signature.ts";

export interface AdmissionUrlFlags {
  /** A file with the private key, in PEM. */
  readonly signingKey?: string | undefined;
  /** The URL of the function, as the deployment prints it. */
  readonly functionUrl?: string | undefined;
  readonly clusterName?: readonly string[] | undefined;
  readonly publicKey: boolean;
}

/** The limit of the file; a key in PEM has 119 bytes. */
const MAX_KEY_BYTES = 4_096;

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

async function readSigningKey(
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<string | undefined> {
  const refuse = (message: string): undefined => void faults.push({ name: "--signing-key", message });
  if (file === undefined) return refuse(`is missing; ${MAKE_ONE}`);
  let pem: string;
  try {
    pem = await readSmallFile(file, MAX_KEY_BYTES);
  } catch (error) {
    return refuse(`${file} ${describeFileError(error)}`);
  }
  try {
    derivePublicKey(pem);
    return pem;
  } catch {
    // OpenSSL's message does not help, and may quote the key.
    return refuse(`${file} holds no private key of Ed25519 in PEM; ${MAKE_ONE}`);
  }
}

const MAKE_ONE = "`openssl genpkey -algorithm ed25519 -out FILE` makes one";

function readFunctionUrl(text: string | undefined, faults: ConfigurationFault[]): string {
  const url = URL.parse(text ?? "");
  const isBare = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (url !== null && url.protocol === "https:" && isBare) return url.origin;
  faults.push({
    name: "--function-url",
    message: `${text === undefined ? "is missing" : JSON.stringify(sanitizeText(text, 256))}; give the function's URL without a path, such as https://ID.lambda-url.eu-central-1.on.aws/`,
  });
  return "";
}

function readClusterNames(names: readonly string[], faults: ConfigurationFault[]): readonly string[] {
  const refuse = (message: string): void => void faults.push({ name: "--cluster-name", message });
  if (names.length === 0) refuse("is missing; give one, once for each cluster");
  for (const name of names)
    if (!ClusterName.safeParse(name).success)
      refuse(`${JSON.stringify(sanitizeText(name, 256))} is not a cluster's name`);
  return names;
}

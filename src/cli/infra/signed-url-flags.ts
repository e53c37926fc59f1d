import { describeFileError, readSmallFile } from "#config/read-small-file.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";
import { ClusterName } from "#core/event.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { derivePublicKey } from "#functions/parts/cluster-signature.ts";

/** The flags of commands that let API servers call a function's URL. */
export interface SignedUrlFlags {
  /** A file with the private key, in PEM. */
  readonly signingKey?: string | undefined;
  /** The URL of the function, as the deployment prints it. */
  readonly functionUrl?: string | undefined;
  /** Print the public key for the function's deployment. */
  readonly publicKey: boolean;
}

/** The limit of the file; a key in PEM has 119 bytes. */
const MAX_KEY_BYTES = 4_096;

/** Reads the operator's private key; no fault quotes it. */
export async function readSigningKey(
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

/** Reads a function's URL; returns its origin. */
export function readFunctionUrl(text: string | undefined, faults: ConfigurationFault[]): string {
  const url = URL.parse(text ?? "");
  const isBare = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (url !== null && url.protocol === "https:" && isBare) return url.origin;
  faults.push({
    name: "--function-url",
    message: `${text === undefined ? "is missing" : JSON.stringify(sanitizeText(text, 256))}; give the function's URL without a path, such as https://ID.lambda-url.eu-central-1.on.aws/`,
  });
  return "";
}

/** Checks the names of clusters. */
export function readClusterNames(
  names: readonly string[],
  faults: ConfigurationFault[],
  missing = "is missing; give one, once for each cluster",
): readonly string[] {
  const refuse = (message: string): void => void faults.push({ name: "--cluster-name", message });
  if (names.length === 0) refuse(missing);
  for (const name of names)
    if (!ClusterName.safeParse(name).success)
      refuse(`${JSON.stringify(sanitizeText(name, 256))} is not a cluster's name`);
  return names;
}

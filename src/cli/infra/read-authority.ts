import { X509Certificate } from "node:crypto";
import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { describeFileError, readSmallFile } from "#config/read-small-file.ts";

/** Reads the certificate authority in a flag's file, in PEM; an invalid one goes to `faults`. */
export async function readAuthority(
  name: string,
  file: string | undefined,
  faults: ConfigurationFault[],
): Promise<string | undefined> {
  if (file === undefined || file === "") return undefined;
  try {
    const pem = await readSmallFile(file, MAX_AUTHORITY_BYTES);
    if (hasCertificate(pem)) return pem;
    faults.push({ name, message: `${file} has no certificate in PEM` });
  } catch (error) {
    faults.push({ name, message: `${file} ${describeFileError(error)}` });
  }
  return undefined;
}

function hasCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

const MAX_AUTHORITY_BYTES = 1024 * 1024;

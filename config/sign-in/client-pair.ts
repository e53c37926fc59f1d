import { createPrivateKey, X509Certificate } from "node:crypto";

/** Whether two PEM texts are a certificate and its key. */
export function isPair(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** The end of a certificate, in milliseconds since the epoch; of a chain that of the first, which is the client's own. */
export function endOfCertificate(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

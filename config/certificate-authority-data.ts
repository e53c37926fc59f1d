import { X509Certificate } from "node:crypto";
import * as z from "zod";

/** A bundle of authorities is some KB. */
const MAX_CHARACTERS = 256 * 1024;

/** A certificate authority as kubeconfigs hold it: PEM, in base64. */
export const CertificateAuthorityData = z
  .string()
  .max(MAX_CHARACTERS)
  .refine(
    (data) => isAuthority(pemOfData(data)),
    "is no certificate authority: give the base64 of PEM, as certificate-authority-data of a kubeconfig",
  );

/** The PEM that the data stand for. */
export function pemOfData(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

import { X509Certificate } from "node:crypto";
import * as z from "zod";

/** A bundle of certificate authorities has a few KB. */
const MAX_CHARACTERS = 256 * 1024;

/** A certificate authority as in kubeconfigs: PEM in base64. */
export const CertificateAuthorityData = z
  .string()
  .max(MAX_CHARACTERS)
  .refine(
    (data) => isAuthority(decodeCertificateAuthorityData(data)),
    "is not a certificate authority: give the base64 of PEM, as certificate-authority-data of a kubeconfig",
  );

/** Decodes the data to PEM. */
export function decodeCertificateAuthorityData(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

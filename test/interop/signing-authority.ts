// The ASN.1 decorators of @peculiar/x509 need this polyfill, loaded before it.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

/** The files of a cluster's certificate authority, for a program that signs with it. */
export interface SigningAuthority {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** PEM. */
  readonly certificate: string;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Creates a certificate authority, valid for a day, and writes it and its key to a folder. */
export async function writeSigningAuthority(folder: string): Promise<SigningAuthority> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
  const now = Date.now();
  const usages = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
  const root = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: ["cluster"] }],
      notBefore: new Date(now - 3_600_000),
      notAfter: new Date(now + 86_400_000),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(usages, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const certificate = root.toString("pem");
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const [certificateFile, keyFile] = [join(folder, "cluster.crt"), join(folder, "cluster.key")];
  await writeFile(certificateFile, certificate);
  await writeFile(keyFile, x509.PemConverter.encode(key, "PRIVATE KEY"), { mode: 0o600 });
  return { certificateFile, keyFile, certificate };
}

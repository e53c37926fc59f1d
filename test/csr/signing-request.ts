// The ASN.1 decorators of @peculiar/x509 need this polyfill, loaded before it.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** How a signing request differs from that of a node's kubelet. */
export interface SigningRequestSpec {
  /** By default `system:node:` and the node's name; null omits it. */
  readonly commonName?: string | null;
  readonly organizations?: readonly string[];
  /** Further parts of the subject. */
  readonly subject?: x509.JsonName;
  readonly names?: readonly x509.JsonGeneralName[];
  /** Extensions in addition to the names. */
  readonly extensions?: readonly x509.Extension[];
  readonly attributes?: readonly x509.Attribute[];
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

let keys: Promise<webcrypto.CryptoKeyPair> | undefined;

/** Returns a request as PEM, signed with a real key (ECDSA P-256, one for all). */
export async function createSigningRequest(nodeName: string, spec: SigningRequestSpec = {}): Promise<string> {
  keys ??= webcrypto.subtle.generateKey(ALGORITHM, true, [
    "sign",
    "verify",
  ]) as Promise<webcrypto.CryptoKeyPair>;
  const commonName = spec.commonName === undefined ? `system:node:${nodeName}` : spec.commonName;
  const names = spec.names ?? [{ type: "dns", value: nodeName }];
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    {
      keys: await keys,
      name: [
        ...(spec.organizations ?? ["system:nodes"]).map((organization) => ({ O: [organization] })),
        ...(commonName === null ? [] : [{ CN: [commonName] }]),
        ...(spec.subject ?? []),
      ],
      signingAlgorithm: ALGORITHM,
      extensions: [
        ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension([...names])]),
        ...(spec.extensions ?? []),
      ],
      attributes: [...(spec.attributes ?? [])],
    },
    webcrypto,
  );
  return request.toString("pem");
}

/** Returns the text in the form of `spec.request`. */
export function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}

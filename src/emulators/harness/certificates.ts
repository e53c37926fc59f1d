// The ASN.1 decorators of @peculiar/x509 need this polyfill, loaded before it.
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** A certificate and its private key (PKCS #8), both PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/**
 * The identity in a client certificate: Kubernetes reads the user from the common name, the groups from the
 * organisations.
 */
export interface ClientIdentity {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A certificate authority in memory; its certificates are valid from an hour ago for ten days. */
export interface CertificateAuthority {
  /** PEM, for clients and servers that must trust it. */
  readonly certificate: string;
  /** Issues a certificate for a server at 127.0.0.1 and localhost, and at the given further names. */
  issueServer(names?: readonly string[]): Promise<KeyPair>;
  /** Issues a certificate for a server at only these names. */
  issueNamedServer(names: readonly string[]): Promise<KeyPair>;
  issueClient(identity: ClientIdentity): Promise<KeyPair>;
  /** Issues a key and certificate for signing only, such as of service account tokens. */
  issueSigner(name: string): Promise<KeyPair>;
}

/**
 * Creates a certificate authority (ECDSA P-256) for test and demo API servers; its key is never written to
 * disk.
 */
export async function createCertificateAuthority(
  options: { readonly name?: string; readonly now?: Date } = {},
): Promise<CertificateAuthority> {
  const now = options.now ?? new Date();
  const keys = await generateKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned(
    {
      ...getValidity(now),
      name: [{ CN: [options.name ?? "local-control-plane"] }],
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, CRYPTO),
      ],
    },
    CRYPTO,
  );
  const issue = (name: x509.JsonName, extensions: readonly x509.Extension[]): Promise<KeyPair> =>
    issueCertificate(root, keys.privateKey, now, name, extensions);
  return {
    certificate: root.toString("pem"),
    issueServer: (names = []) =>
      issue([{ CN: ["localhost"] }], buildServerExtensions(["localhost", ...names], ["127.0.0.1"])),
    issueNamedServer: (names) => issue([{ CN: ["named"] }], buildServerExtensions(names, [])),
    issueClient: ({ name, groups }) =>
      issue(
        [{ CN: [name] }, ...groups.map((group) => ({ O: [group] }))],
        [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
      ),
    issueSigner: (name) => issue([{ CN: [name] }], []),
  };
}

/** Returns whether a PEM is a readable certificate signing request. */
export function readCertificateRequest(pem: string): boolean {
  if (!pem.includes("-----BEGIN CERTIFICATE REQUEST-----")) return false;
  try {
    return new x509.Pkcs10CertificateRequest(pem).rawData.byteLength > 0;
  } catch {
    return false;
  }
}

// Node's own Web Crypto, given explicitly: the library's default provider is process-wide state.
const CRYPTO = webcrypto;

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await CRYPTO.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
}

async function issueCertificate(
  root: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
  now: Date,
  name: x509.JsonName,
  extensions: readonly x509.Extension[],
): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.create(
    {
      ...getValidity(now),
      subject: name,
      issuer: root.subject,
      publicKey: keys.publicKey,
      signingKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        await x509.AuthorityKeyIdentifierExtension.create(root.publicKey, false, CRYPTO),
        ...extensions,
      ],
    },
    CRYPTO,
  );
  const key = await CRYPTO.subtle.exportKey("pkcs8", keys.privateKey);
  return { certificate: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

function buildServerExtensions(
  names: readonly string[],
  addresses: readonly string[],
): readonly x509.Extension[] {
  const hosts = names.map((value) => ({ type: "dns" as const, value }));
  const ips = addresses.map((value) => ({ type: "ip" as const, value }));
  return [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([...hosts, ...ips]),
  ];
}

function getValidity(now: Date): { readonly notBefore: Date; readonly notAfter: Date } {
  const hourMs = 3_600_000;
  return {
    notBefore: new Date(now.getTime() - hourMs),
    notAfter: new Date(now.getTime() + 240 * hourMs),
  };
}

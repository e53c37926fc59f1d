import { createHash, generateKeyPairSync } from "node:crypto";

/** An API signing key of a user. */
export interface ApiKey {
  readonly pem: string;
  readonly fingerprint: string;
}

export const TENANCY = "ocid1.tenancy.oc1..t1";
export const USER = "ocid1.user.oc1..u1";
export const COMPARTMENT = "ocid1.compartment.oc1..c1";
export const VCN = "ocid1.vcn.oc1.phx.v1";
export const REGION = "us-phoenix-1";

/** Creates a key; Oracle requires 2,048 bits. */
export function createApiKey(modulusLength = 2048): ApiKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength });
  const der = publicKey.export({ type: "spki", format: "der" });
  const fingerprint = createHash("md5")
    .update(der)
    .digest("hex")
    .replace(/..(?!$)/g, "$&:");
  return { pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), fingerprint };
}

/** The key that the fake knows at first. */
export const API_KEY = createApiKey();

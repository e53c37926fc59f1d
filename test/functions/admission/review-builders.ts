import { generateKeyPairSync } from "node:crypto";
import { signPath } from "#functions/parts/admission/signed-path.ts";
import { derivePublicKey } from "#functions/parts/cluster-signature.ts";

/** An operator's key as the command line reads it. */
export function getSigningKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString();
}

const KEY = getSigningKey();

/** What the functions under test verify paths by. */
export const PUBLIC_KEY = derivePublicKey(KEY);

/** The path that the operator has signed for a cluster. */
export const buildSignedPath = (cluster: string): string => signPath(cluster, KEY);

/** What an API server sends for a Service; `traits` are of the request. */
export function buildReview(service: unknown, traits: Record<string, unknown> = {}) {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
      kind: { group: "", version: "v1", kind: "Service" },
      ...{ operation: "CREATE", object: service, oldObject: null },
      ...traits,
    },
  };
}

/** A request to the function's URL as Lambda hands it over. */
export function buildUrlRequest(path: string, body: string, traits: Record<string, unknown> = {}) {
  return {
    ...{ version: "2.0", rawPath: path, body, isBase64Encoded: false },
    headers: { authorization: "Bearer the-token", "content-type": "application/json" },
    requestContext: { http: { method: "POST", path } },
    ...traits,
  };
}

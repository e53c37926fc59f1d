import { buildJsonAnswer, FORBIDDEN, NOT_FOUND, type Resource } from "#emulators/digitalocean/answer.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** A certificate as the fake keeps it. */
export interface FakeCertificate {
  id: string;
  name: string;
  type: "custom" | "lets_encrypt";
  state: "pending" | "verified" | "error";
  dns_names: string[];
}

/** `GET /v2/certificates` and `/v2/certificates/{id}`. */
export function createCertificates(
  certificates: ReadonlyMap<string, FakeCertificate>,
  scopes: ReadonlySet<string>,
): Resource {
  return (request, refuse) => {
    const { method, path, query } = request;
    const id = /^\/v2\/certificates\/([^/]+)$/.exec(path)?.[1];
    if (id === undefined && path !== "/v2/certificates") return undefined;
    if (!scopes.has("certificate:read")) return FORBIDDEN;
    if (method !== "GET") return refuse(405, "method_not_allowed");
    if (id !== undefined) {
      if (!UUID.test(id) || Object.keys(query).length > 0) return refuse(404, "not_found");
      const certificate = certificates.get(id);
      return certificate === undefined
        ? NOT_FOUND
        : buildJsonAnswer(200, { certificate: renderCertificate(certificate) });
    }
    const { name } = query;
    const items = [...certificates.values()].filter((each) => name === undefined || each.name === name);
    return buildPage(request, refuse, {
      key: "certificates",
      known: ["name"],
      items,
      rendered: renderCertificate,
    });
  };
}

/** Builds a usable certificate of Let's Encrypt. */
export function buildCertificate(id: string): FakeCertificate {
  return {
    id,
    name: `web-${id.slice(-2)}`,
    type: "lets_encrypt",
    state: "verified",
    dns_names: ["example.com"],
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function renderCertificate(certificate: FakeCertificate) {
  return {
    ...certificate,
    not_after: "2027-01-01T00:00:00Z",
    sha1_fingerprint: "dfcc9f57d86bf58e321c2c6c31c7a971be244ac7",
    created_at: "2026-01-01T00:00:00Z",
  };
}

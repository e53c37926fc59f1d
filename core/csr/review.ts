import type { CertificateRequest, ParseCertificateRequest } from "#core/csr/certificate-request.ts";
import type { DenialCode } from "#core/csr/conditions.ts";
import { type CertificateSigningRequest, MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import type { ProblemCode } from "#core/csr/problems.ts";
import { NODES_GROUP } from "#core/csr/requestor.ts";
import { usagesOf } from "#core/tenant-fact.ts";

/** What is to be said of a request by itself, before anybody asks whose the names in it are. */
export type Review =
  | { readonly kind: "names"; readonly request: CertificateRequest }
  /** It can never be right, whatever node and cloud say: Kubernetes' own rules for this signer refuse it. */
  | { readonly kind: "denied"; readonly code: DenialCode }
  /** It is none that a kubelet makes, but not for us to call wrong. */
  | { readonly kind: "unusual"; readonly because: { readonly code: ProblemCode; readonly message: string } };

/** Reviews a request that a node makes for its serving certificate. */
export function reviewRequest(
  { spec }: CertificateSigningRequest,
  parseRequest: ParseCertificateRequest,
): Review {
  if (!ALLOWED_USAGES.has(usagesOf({ spec }).join(", "))) return denied("UsagesForbidden");
  if (spec.request === undefined) {
    return unusual("RequestTooLarge", `the request is longer than ${MAX_REQUEST_LENGTH} characters`);
  }
  const parsed = parseRequest(spec.request);
  if (parsed.kind === "unreadable") return unusual("RequestUnreadable", parsed.message);
  const { request } = parsed;
  const fault = FAULTS.find(({ isIn }) => isIn(request, spec.username));
  if (fault !== undefined) return denied(fault.code);
  if (request.others.length > 0) {
    return unusual(
      "RequestUnusual",
      `the request has what no kubelet asks for: ${request.others.join(", ")}`,
    );
  }
  return { kind: "names", request };
}

/** Sorted, as one text each. */
const ALLOWED_USAGES: ReadonlySet<string> = new Set([
  "digital signature, key encipherment, server auth",
  "digital signature, server auth",
]);

interface RequestFault {
  readonly code: DenialCode;
  isIn(request: CertificateRequest, username: string): boolean;
}

/** In the order in which they are looked for; the first is told. */
const FAULTS: readonly RequestFault[] = [
  {
    code: "CommonNameNotRequestor",
    isIn: ({ commonNames }, username) => commonNames.length !== 1 || commonNames[0] !== username,
  },
  {
    code: "OrganizationForbidden",
    isIn: ({ organizations }) => organizations.length !== 1 || organizations[0] !== NODES_GROUP,
  },
  {
    code: "EmailAddressForbidden",
    isIn: ({ emailAddresses }) => emailAddresses.length > 0,
  },
  {
    code: "URIForbidden",
    isIn: ({ uris }) => uris.length > 0,
  },
  {
    code: "WildcardForbidden",
    isIn: ({ dnsNames }) => dnsNames.some((name) => name.includes("*")),
  },
  {
    code: "NoNames",
    isIn: ({ dnsNames, ipAddresses }) => dnsNames.length + ipAddresses.length === 0,
  },
];

function denied(code: DenialCode): Review {
  return { kind: "denied", code };
}

function unusual(code: ProblemCode, message: string): Review {
  return { kind: "unusual", because: { code, message } };
}

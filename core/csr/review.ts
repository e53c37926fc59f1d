import type { CertificateRequest, ParseCertificateRequest } from "#core/csr/certificate-request.ts";
import type { DenialCode } from "#core/csr/conditions.ts";
import { type CertificateSigningRequest, MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import type { IssueCode } from "#core/csr/issues.ts";
import { NODES_GROUP } from "#core/csr/requestor.ts";
import { listUsageFacts } from "#core/tenant-fact.ts";

/** The review of a request by its own content, before its names are checked against the cloud. */
export type Review =
  | { readonly kind: "names"; readonly request: CertificateRequest }
  /** It is invalid whatever node and cloud say: Kubernetes' own rules for this signer reject it. */
  | { readonly kind: "denied"; readonly code: DenialCode }
  /** Kubelets create no such request, but it breaks no rule. */
  | { readonly kind: "unusual"; readonly because: { readonly code: IssueCode; readonly message: string } };

/** Reviews a node's request for its serving certificate. */
export function reviewRequest(
  { spec }: CertificateSigningRequest,
  parseRequest: ParseCertificateRequest,
): Review {
  if (!ALLOWED_USAGES.has(listUsageFacts({ spec }).join(", "))) return denyRequest("UsagesForbidden");
  if (spec.request === undefined) {
    return holdRequest("RequestTooLarge", `the request is longer than ${MAX_REQUEST_LENGTH} characters`);
  }
  const parsed = parseRequest(spec.request);
  if (parsed.kind === "unreadable") return holdRequest("RequestUnreadable", parsed.message);
  const { request } = parsed;
  const fault = REQUEST_CHECKS.find(({ isIn }) => isIn(request, spec.username));
  if (fault !== undefined) return denyRequest(fault.code);
  if (request.others.length > 0) {
    return holdRequest(
      "RequestUnusual",
      `the request has what no kubelet asks for: ${request.others.join(", ")}`,
    );
  }
  return { kind: "names", request };
}

/** Sorted, each set as one text. */
const ALLOWED_USAGES: ReadonlySet<string> = new Set([
  "digital signature, key encipherment, server auth",
  "digital signature, server auth",
]);

interface RequestCheck {
  readonly code: DenialCode;
  isIn(request: CertificateRequest, username: string): boolean;
}

/** In the order of the checks; the first match is reported. */
const REQUEST_CHECKS: readonly RequestCheck[] = [
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

function denyRequest(code: DenialCode): Review {
  return { kind: "denied", code };
}

function holdRequest(code: IssueCode, message: string): Review {
  return { kind: "unusual", because: { code, message } };
}

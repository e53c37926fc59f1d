/** The content of a certificate request (PKCS #10), in its original order. */
export interface CertificateRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** As text; IPv4 in dotted notation. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /**
   * Everything else in the request, in words: other parts of the subject, other kinds of names, attributes
   * and extensions.
   */
  readonly others: readonly string[];
}

/** A parsed request, or why it is unreadable. */
export type ParsedRequest =
  | { readonly kind: "request"; readonly request: CertificateRequest }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * Parses `spec.request`: base64 of PEM. Never throws; equal texts give equal results. A request that two
 * parsers could read differently is unreadable, such as one with a second block or a second list of names.
 */
export type ParseCertificateRequest = (request: string) => ParsedRequest;

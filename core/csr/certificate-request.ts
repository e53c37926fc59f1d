/** What a certificate request (PKCS #10) asks for, in the order in which it stands there. */
export interface CertificateRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** As text; IPv4 with dots. */
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
  /** Whatever else it asks for, in words: other parts of the subject, kinds of names, attributes and extensions. */
  readonly others: readonly string[];
}

/** A request as read, or why it could not be. */
export type ParsedRequest =
  | { readonly kind: "request"; readonly request: CertificateRequest }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * Reads `spec.request`: base64 of PEM. Never throws; the same for the same text. Where two readers could differ on what is
 * asked for, such as at a second block or a second list of names, it is unreadable.
 */
export type ParseCertificateRequest = (request: string) => ParsedRequest;

import "reflect-metadata";
import {
  ExtensionsAttribute,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
} from "@peculiar/x509";
import { createCsrController } from "#core/csr/controller.ts";
import type { CertificateRequest, ParsedRequest } from "#core/csr/csr.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** Text before, between or after the block could be read as the request by another parser. */
const ONE_BLOCK =
  /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*$/;

const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

const ALTERNATIVE_NAMES = "2.5.29.17";

/** The csr-approver with its parser of certificate requests. */
export const csrController = createCsrController(parseCertificateRequest);

// The ASN.1 decorators of @peculiar/x509 need this polyfill, loaded before it.
/**
 * Parses the text of a certificate request with @peculiar/x509. The signer verifies the request's own
 * signature.
 */
export function parseCertificateRequest(request: string): ParsedRequest {
  const pem = Buffer.from(request, "base64").toString("latin1");
  const [, der] = ONE_BLOCK.exec(pem) ?? [];
  if (der === undefined)
    return createUnreadableRequest("it is not one block of PEM that is a certificate request");
  try {
    return read(new Pkcs10CertificateRequest(Buffer.from(der, "base64")));
  } catch (error) {
    return createUnreadableRequest(getErrorMessage(error));
  }
}

type MutableRequest = { -readonly [Key in keyof CertificateRequest]: string[] };

function read(csr: Pkcs10CertificateRequest): ParsedRequest {
  const asked: MutableRequest = {
    commonNames: [],
    organizations: [],
    dnsNames: [],
    ipAddresses: [],
    emailAddresses: [],
    uris: [],
    others: [],
  };
  for (const part of csr.subjectName.toJSON()) {
    for (const [type, values] of Object.entries(part)) {
      if (type === "CN") asked.commonNames.push(...values);
      else if (type === "O") asked.organizations.push(...values);
      else asked.others.push(`${type} in the subject`);
    }
  }
  const attributes = csr.attributes.filter(({ type }) => type === EXTENSION_REQUEST);
  for (const { type } of csr.attributes) {
    if (type !== EXTENSION_REQUEST) asked.others.push(`attribute ${type}`);
  }
  if (attributes.length > 1 || attributes.some(({ values }) => values.length !== 1)) {
    return createUnreadableRequest("it has more than one list of extensions");
  }
  const extensions = attributes.flatMap((each) => (each instanceof ExtensionsAttribute ? each.items : []));
  const names = extensions.filter(({ type }) => type === ALTERNATIVE_NAMES);
  if (names.length > 1) return createUnreadableRequest("it has more than one list of alternative names");
  for (const extension of extensions) {
    if (extension instanceof SubjectAlternativeNameExtension) addNames(asked, extension);
    else asked.others.push(`extension ${extension.type}`);
  }
  return { kind: "request", request: asked };
}

function addNames(asked: MutableRequest, extension: SubjectAlternativeNameExtension): void {
  for (const { type, value } of extension.names.toJSON()) {
    switch (type) {
      case "dns":
        asked.dnsNames.push(value);
        break;
      case "ip":
        asked.ipAddresses.push(value);
        break;
      case "email":
        asked.emailAddresses.push(value);
        break;
      case "url":
        asked.uris.push(value);
        break;
      default:
        asked.others.push(`a name of the kind ${type}`);
    }
  }
}

function createUnreadableRequest(message: string): ParsedRequest {
  return { kind: "unreadable", message };
}

import { createCsrController } from "#core/csr/controller.ts";
import { parseCertificateRequest } from "#functions/parts/parse-certificate-request.ts";

/** The csr-approver with its parser of certificate requests. */
export const csrController = createCsrController(parseCertificateRequest);

import { request } from "node:https";
import type { TLSSocket } from "node:tls";

/** The answer of a kubelet's server, and its certificate. */
export interface KubeletAnswer {
  readonly status: number;
  readonly body: string;
  /** In OpenSSL's form: `DNS:…, IP Address:…`. */
  readonly names: string;
  readonly issuer: string;
}

/**
 * Requests a kubelet's health over TLS. Rejects if the certificate is from another authority or for another
 * name.
 */
export function askKubelet(options: {
  readonly address: string;
  readonly certificateAuthority: string;
  /** The name to check in the certificate; by default the address. */
  readonly name?: string;
  readonly token?: string;
}): Promise<KubeletAnswer> {
  const { address, certificateAuthority, name, token } = options;
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: address,
        port: 10250,
        path: "/healthz",
        ca: certificateAuthority,
        agent: false,
        timeout: 10_000,
        ...(name === undefined ? {} : { servername: name }),
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      },
      (answer) => {
        const certificate = (answer.socket as TLSSocket).getPeerCertificate();
        let body = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
        });
        answer.once("end", () => {
          const { subjectaltname: names = "", issuer } = certificate;
          resolve({ status: answer.statusCode ?? 0, body, names, issuer: String(issuer.CN) });
        });
      },
    );
    asked.once("timeout", () => asked.destroy(new Error(`${address}: no answer in 10 s`)));
    asked.once("error", reject);
    asked.end();
  });
}

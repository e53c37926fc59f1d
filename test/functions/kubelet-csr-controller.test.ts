import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { describe, expect, test } from "vitest";
import { readNodeName } from "#functions/parts/kubelet-csr-controller.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

async function buildRequest(name: string): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const csr = await Pkcs10CertificateRequestGenerator.create({ name, keys, signingAlgorithm: ALGORITHM });
  return Buffer.from(`${csr.toString("pem")}\n`).toString("base64");
}

describe("the name of the node in a request", () => {
  test.each<[string, string, string | undefined]>([
    [
      "as a kubelet writes it",
      "O=system:nodes, CN=system:node:ip-10-0-1-17.ec2.internal",
      "ip-10-0-1-17.ec2.internal",
    ],
    ["with the common name first", "CN=system:node:node-1, O=system:nodes", "node-1"],
    ["of another user", "CN=admin, O=system:masters", undefined],
    ["without a common name", "O=system:nodes", undefined],
    ["that is no DNS name", "CN=system:node:no_de", undefined],
    ["that is too long", `CN=system:node:${"n".repeat(120)}`, undefined],
  ])("%s", async (_, subject, name) => {
    expect(readNodeName(await buildRequest(subject))).toBe(name);
  });

  test.each([
    ["an empty text", ""],
    ["no PEM", Buffer.from("hello").toString("base64")],
    [
      "another kind of PEM",
      Buffer.from("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----").toString("base64"),
    ],
    [
      "a common name at the very end",
      Buffer.from(
        `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from([0x06, 0x03, 0x55, 0x04, 0x03]).toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`,
      ).toString("base64"),
    ],
  ])("is unknown in %s", (_, request) => {
    expect(readNodeName(request)).toBeUndefined();
  });
});

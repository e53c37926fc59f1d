import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CertificateRequest } from "#core/csr/csr.ts";
import { parseCertificateRequest } from "#functions/parts/csr-controller.ts";
import { createSigningRequest, type SigningRequestSpec, toBase64 } from "#test/csr/signing-request.ts";
import { SEED } from "#test/seed.ts";

const KUBELETS: CertificateRequest = {
  commonNames: ["system:node:node-a"],
  organizations: ["system:nodes"],
  dnsNames: ["node-a"],
  ipAddresses: [],
  emailAddresses: [],
  uris: [],
  others: [],
};

const ROWS: readonly {
  readonly given: string;
  readonly spec: SigningRequestSpec;
  readonly read: Partial<CertificateRequest>;
}[] = [
  { given: "what a kubelet asks for", spec: {}, read: {} },
  {
    given: "addresses",
    spec: {
      names: [
        { type: "ip", value: "10.0.1.17" },
        { type: "ip", value: "2001:db8::17" },
        { type: "dns", value: "b" },
      ],
    },
    read: { dnsNames: ["b"], ipAddresses: ["10.0.1.17", "2001:db8::17"] },
  },
  { given: "no names", spec: { names: [] }, read: { dnsNames: [] } },
  { given: "no common name", spec: { commonName: null }, read: { commonNames: [] } },
  { given: "two organizations", spec: { organizations: ["a", "b"] }, read: { organizations: ["a", "b"] } },
  {
    given: "a subject in one part",
    spec: { commonName: null, organizations: [], subject: [{ CN: ["a", "b"], O: ["c"], OU: ["d"] }] },
    read: { commonNames: ["a", "b"], organizations: ["c"], others: ["OU in the subject"] },
  },
  {
    given: "other kinds of names",
    spec: {
      names: [
        { type: "email", value: "a@example.com" },
        { type: "url", value: "spiffe://a" },
        { type: "id", value: "1.2.3" },
        { type: "dn", value: "CN=a" },
        { type: "upn", value: "a" },
      ],
    },
    read: {
      dnsNames: [],
      emailAddresses: ["a@example.com"],
      uris: ["spiffe://a"],
      others: ["a name of the kind id", "a name of the kind dn", "a name of the kind upn"],
    },
  },
  {
    given: "other extensions",
    spec: {
      extensions: [
        new x509.BasicConstraintsExtension(true),
        new x509.Extension("1.2.3.4", true, new Uint8Array([5, 0])),
      ],
    },
    read: { others: ["extension 2.5.29.19", "extension 1.2.3.4"] },
  },
  {
    given: "other attributes",
    spec: { attributes: [new x509.ChallengePasswordAttribute("x")] },
    read: { others: ["attribute 1.2.840.113549.1.9.7"] },
  },
];

test.each(ROWS)("$given", async ({ spec, read }) => {
  expect(parseCertificateRequest(toBase64(await createSigningRequest("node-a", spec)))).toEqual({
    kind: "request",
    request: { ...KUBELETS, ...read },
  });
});

test("a request of 300 addresses fits into what is kept of one", async () => {
  const names = Array.from({ length: 300 }, (_, index) => ({
    type: "ip" as const,
    value: `10.0.${Math.floor(index / 250)}.${index % 250}`,
  }));
  const text = toBase64(await createSigningRequest("node-a", { names }));
  const parsed = parseCertificateRequest(text);
  expect(parsed.kind === "request" && parsed.request.ipAddresses).toHaveLength(300);
  expect(text.length).toBeLessThan(16_384);
});

describe("unreadable is", () => {
  const other = async () => createSigningRequest("node-b");
  const ours = async () => createSigningRequest("node-a");
  const names = (value: string) => new x509.SubjectAlternativeNameExtension([{ type: "dns", value }]);

  test.each([
    ["nothing", async () => ""],
    ["rubbish", async () => "rubbish"],
    ["a block of rubbish", async () => pem("AAAA")],
    ["a certificate's block", async () => (await ours()).replaceAll("CERTIFICATE REQUEST", "CERTIFICATE")],
    ["two blocks", async () => `${await ours()}\n${await other()}`],
    ["a block behind a text", async () => `hello\n${await ours()}`],
    ["a block with headers", async () => (await ours()).replace("-----\n", "-----\nProc-Type: 4\n\n")],
    ["half a block", async () => (await ours()).replace(/\n[^\n]+\n-----END/, "\n-----END")],
    ["two lists of names", async () => createSigningRequest("node-a", { extensions: [names("b")] })],
    [
      "two lists of extensions",
      async () =>
        createSigningRequest("node-a", { attributes: [new x509.ExtensionsAttribute([names("b")])] }),
    ],
  ])("%s", async (_, make) => {
    expect(parseCertificateRequest(toBase64(await make()))).toEqual({
      kind: "unreadable",
      message: expect.any(String),
    });
  });

  test("never throws, whatever the parser throws", async () => {
    const der = Buffer.from((await ours()).replace(/-----[^-]+-----|\n/g, ""), "base64");
    const changes = fc.array(fc.tuple(fc.nat(der.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    const property = fc.property(changes, fc.nat(der.length), (edits, cut) => {
      const bytes = Buffer.from(der.subarray(0, Math.max(cut, 1)));
      for (const [at, value] of edits) if (at < bytes.length) bytes[at] = value;
      expect(["request", "unreadable"]).toContain(
        parseCertificateRequest(toBase64(pem(bytes.toString("base64")))).kind,
      );
    });
    await fc.assert(property, { seed: SEED, numRuns: 500 });
  });
});

function pem(text: string): string {
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text}\n-----END CERTIFICATE REQUEST-----\n`;
}

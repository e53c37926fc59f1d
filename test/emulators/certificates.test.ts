import { X509Certificate } from "node:crypto";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";

test.each([
  { name: "127.0.0.1", served: true },
  { name: "localhost", served: true },
  { name: "example.com", served: true },
  { name: "other.example.com", served: false },
])("a server certificate is valid for $name: $served", async ({ name, served }) => {
  const authority = await createCertificateAuthority();
  const { certificate } = await authority.issueServer(["example.com"]);
  const parsed = new X509Certificate(certificate);
  const matches = /^\d/.test(name) ? parsed.checkIP(name) : parsed.checkHost(name);
  expect(matches !== undefined).toBe(served);
});

test("a client certificate signs its user in with name and groups, if its authority is trusted", async () => {
  const authority = await createCertificateAuthority();
  const identity = { name: "other-user", groups: ["one", "two"] };
  const answer = await askOverTls(authority, await authority.issueClient(identity));
  expect(answer).toEqual({ CN: "other-user", O: ["one", "two"] });
});

test("a client certificate of another authority is rejected", async () => {
  const stranger = await (await createCertificateAuthority()).issueClient({ name: "other-user", groups: [] });
  await expect(askOverTls(await createCertificateAuthority(), stranger)).rejects.toThrow();
});

test.each([
  { given: "an hour ago", hours: -1 },
  { given: "in ten days", hours: 240 },
])("validity begins or ends $given, by the given time", async ({ hours }) => {
  const now = new Date("2030-01-01T00:00:00Z");
  const authority = await createCertificateAuthority({ now });
  const { validFromDate, validToDate } = new X509Certificate((await authority.issueServer()).certificate);
  const bounds = [validFromDate, validToDate].map((bound) => (bound.getTime() - now.getTime()) / 3_600_000);
  expect(bounds).toContain(hours);
});

// Returns the subject of the client's certificate, as seen by a server that trusts the authority.
async function askOverTls(
  authority: Awaited<ReturnType<typeof createCertificateAuthority>>,
  client: KeyPair,
): Promise<unknown> {
  const { certificate, key } = await authority.issueServer();
  const options = { cert: certificate, key, ca: authority.certificate, requestCert: true };
  const server = createServer(options, (message, answer) => {
    const socket = message.socket as import("node:tls").TLSSocket;
    answer.end(JSON.stringify(socket.getPeerCertificate().subject));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { certificate: cert, key: clientKey } = client;
  try {
    return await new Promise((resolve, reject) => {
      const asked = request({ port, host: "127.0.0.1", ca: authority.certificate, cert, key: clientKey });
      asked.once("error", reject);
      asked.once("response", async (response) => {
        const text = (await response.toArray()).join("");
        resolve(JSON.parse(text));
      });
      asked.end();
    });
  } finally {
    server.close();
  }
}

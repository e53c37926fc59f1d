import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect } from "node:tls";
import { afterEach, expect, test } from "vitest";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { keepTlsFresh, type ServerTls } from "#platforms/http/server-tls.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

let close = async (): Promise<void> => undefined;
afterEach(() => close());

test("new connections use a changed certificate, and a faulty file changes nothing and is said once", async () => {
  const authority = await createCertificateAuthority();
  const issue = async (name: string): Promise<ServerTls> => {
    const { certificate: cert, key } = await authority.issueServer([name]);
    return { cert, key };
  };
  let current: ServerTls | Error = await issue("one.example");
  const server = createServer(current);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const lines: Readonly<Record<string, unknown>>[] = [];
  const stop = keepTlsFresh(
    server,
    current,
    async () => {
      if (current instanceof Error) throw current;
      return current;
    },
    (line) => lines.push(line),
    5,
  );
  close = async () => {
    stop();
    await new Promise((resolve) => server.close(resolve));
  };
  const readNames = async (): Promise<string> => {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", ca: authority.certificate });
    await once(socket, "secureConnect");
    const { subjectaltname = "" } = socket.getPeerCertificate();
    socket.destroy();
    return subjectaltname;
  };
  expect(await readNames()).toContain("one.example");
  current = new Error("server.pem cannot be read");
  await waitUntilTrue("the fault to be said", () => lines.length > 0);
  expect(await readNames()).toContain("one.example");
  current = await issue("two.example");
  await waitUntilTrue("the new certificate", async () => (await readNames()).includes("two.example"));
  expect(lines).toEqual([
    { level: "error", event: "CertificateUnusable", message: "server.pem cannot be read" },
    { level: "info", event: "CertificateRead", message: expect.any(String) },
  ]);
});

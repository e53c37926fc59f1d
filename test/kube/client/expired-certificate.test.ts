import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { signIn } from "#config/sign-in.ts";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type KeyPair,
} from "#emulators/harness/certificates.ts";
import { type KubeApiserver, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const GET = { method: "GET", path: "/api/v1/nodes" } as const;
/** For which certificates of the harness are valid. */
const VALID_MS = 240 * 3_600_000;
/** Long enough for the server to start. */
const LEFT_MS = 15_000;

describeWithPart("control-plane", "a client certificate that expires on an open connection", (binaries) => {
  let folder: string;
  let plane: KubeApiserver;
  let ending: CertificateAuthority;
  let lasting: CertificateAuthority;
  let expiresAt: number;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "expired-"));
    expiresAt = Date.now() + LEFT_MS;
    ending = await createCertificateAuthority({ name: "ending", now: new Date(expiresAt - VALID_MS) });
    lasting = await createCertificateAuthority({ name: "lasting" });
    const clientAuthorities = join(folder, "clients.crt");
    await writeFile(clientAuthorities, `${ending.certificate}\n${lasting.certificate}\n`);
    const flags = [`--client-ca-file=${clientAuthorities}`];
    plane = await startKubeApiserver({ folder: join(folder, "plane"), binaries, flags });
  });
  afterEach(async () => {
    await plane?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("is followed by the one that is in the files by then, and no request is refused", async () => {
    const files = { certificateFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
    const put = async ({ certificate, key }: KeyPair): Promise<void> => {
      await writeFile(files.certificateFile, certificate);
      await writeFile(files.keyFile, key);
    };
    const administrator = { name: "administrator", groups: ["system:masters"] };
    await put(await ending.issueClient(administrator));
    const cluster = Cluster.parse({
      name: "blue",
      server: plane.server,
      certificateAuthorityFile: plane.certificateAuthorityFile,
      signIn: { functions: { kind: "client-certificate", ...files } },
      cloud: { provider: "memory", instancesFile: "unused" },
    });
    const transport = connect({ server: plane.server, ...(await signIn(cluster, "functions")) });
    const statuses = async (): Promise<readonly number[]> => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => transport.send(GET)));
      return [...new Set(answers.map(({ status }) => status))];
    };
    try {
      expect(await statuses()).toEqual([200]);
      await put(await lasting.issueClient(administrator));
      // Certificates count in seconds.
      await sleep(expiresAt + 2_000 - Date.now());
      expect(await statuses()).toEqual([200]);
    } finally {
      await transport.close();
    }
  });
});

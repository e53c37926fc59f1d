import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadRancherCloud } from "#clouds/rancher/cloud.ts";
import { RancherCloudConfig } from "#clouds/rancher/config.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import {
  CLUSTER,
  type FakeManagement,
  startFakeManagement,
  TOKEN,
} from "#test/clouds/rancher/fake-management.ts";

let folder: string;
let fake: FakeManagement;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rancher-tls-"));
  const [own, others] = [await createCertificateAuthority(), await createCertificateAuthority()];
  const { key, certificate: cert } = await own.issueServer();
  fake = await startFakeManagement({ key, cert });
  fake.add({ node: { name: "node-1" } });
  await writeFile(join(folder, "own.pem"), own.certificate);
  await writeFile(join(folder, "others.pem"), others.certificate);
  await writeFile(join(folder, "rubbish.pem"), "not a certificate");
  await writeFile(join(folder, "token"), TOKEN);
});
afterAll(async () => {
  await fake?.close();
  await rm(folder, { recursive: true });
});

function load(caFile: string | undefined) {
  const files = {
    tokenFile: join(folder, "token"),
    ...(caFile === undefined ? {} : { caFile: join(folder, caFile) }),
  };
  const rancher = { url: fake.url, cluster: CLUSTER, ...files };
  return loadRancherCloud(
    RancherCloudConfig.parse({ provider: "rancher", distribution: "rke2", existence: "rancher", rancher }),
    { sleep: async () => undefined },
  );
}

test.each<[string, string | undefined, string]>([
  ["trusts the authority of the configured file", "own.pem", "found"],
  ["trusts no other authority", "others.pem", "error"],
  ["trusts only the system's authorities without a file", undefined, "error"],
])("%s", async (_, caFile, kind) => {
  const before = fake.requests.length;
  const cloud = await load(caFile);
  const { answers } = await cloud.instances([buildNode()], buildCall());
  await cloud.close();
  expect(answers).toMatchObject([{ kind }]);
  // An untrusted server gets no token.
  if (kind === "error") expect(fake.requests).toHaveLength(before);
});

test.each([
  ["missing.pem", "cannot be read (ENOENT)"],
  ["rubbish.pem", "holds no certificate"],
  ["that has no end", "not a regular file"],
])("a file %s is an error as soon as the cloud is loaded", async (given, message) => {
  const caFile = given === "that has no end" ? relative(folder, "/dev/zero") : given;
  await expect(load(caFile)).rejects.toThrow(message);
});

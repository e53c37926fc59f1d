import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import type { Running } from "#test/cli/program.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const HEAL_TIMEOUT_MS = 60_000;

describeWithPart("control-plane", "a relay that may not, or cannot, talk to the API server", (binaries) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await startStage(binaries);
  });
  afterEach(() => stage?.close());

  test("without a listening server says so, and recovers by itself", async () => {
    await stage.plane.stopServer("SIGKILL");
    const relay = await stage.run();
    await expectNotReady(relay, "ConnectionRefused");
    await stage.plane.startServer();
    await stage.untilUp(await stage.join(3));
    await untilReady(relay);
  });

  test("with a rejected token (401) says so, and recovers when the file has the right one", async () => {
    const tokenFile = join(stage.folder, "token");
    await writeFile(tokenFile, "s3cret-but-wrong");
    const relay = await runWith({ tokenFile });
    await expectNotReady(relay, "401");
    await writeFile(tokenFile, await readFile(stage.plane.tokenFile("relay")));
    await stage.untilUp(await stage.join(3));
    await untilReady(relay);
    expect(JSON.stringify(relay.lines)).not.toContain("s3cret-but-wrong");
  });

  test("without a right for its identity (403) says so, and recovers once it has the right", async () => {
    const [role, binding] = await takeRightsAway();
    const relay = await stage.run();
    await expectNotReady(relay, "403");
    await giveRightsBack(role, binding);
    await stage.untilUp(await stage.join(3));
    await untilReady(relay);
  });

  test("with an untrusted certificate says so", async () => {
    const other = await createCertificateAuthority({ name: "another-authority" });
    const certificateAuthorityFile = join(stage.folder, "other-ca.crt");
    await writeFile(certificateAuthorityFile, other.certificate);
    const relay = await runWith({ certificateAuthorityFile });
    await expectNotReady(relay, "NotTrusted");
  });

  async function runWith(difference: {
    readonly tokenFile?: string;
    readonly certificateAuthorityFile?: string;
  }): Promise<Running> {
    const file = join(stage.folder, "relay.kubeconfig");
    const { server, certificateAuthorityFile } = stage.plane;
    const tokenFile = stage.plane.tokenFile("relay");
    await writeKubeconfig(file, {
      cluster: "c",
      user: "relay",
      server,
      certificateAuthorityFile,
      tokenFile,
      ...difference,
    });
    return stage.run("--relay-kubeconfig", file);
  }

  async function takeRightsAway(): Promise<readonly [string, string]> {
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/serverless-ccm-relay";
    const admin = await stage.cluster.transport("admin");
    const found = await admin.send({ method: "GET", path });
    expect(found.status).toBe(200);
    expect((await admin.send({ method: "DELETE", path })).status).toBe(200);
    return [path.slice(0, path.lastIndexOf("/")), found.body];
  }

  async function giveRightsBack(path: string, binding: string): Promise<void> {
    const admin = await stage.cluster.transport("admin");
    const { metadata, ...rest } = JSON.parse(binding);
    const body = { ...rest, metadata: { name: metadata.name } };
    expect((await admin.send({ method: "POST", path, body })).status).toBe(201);
  }
});

async function expectNotReady(relay: Running, why: string): Promise<void> {
  const { url } = await relay.line("Serving");
  const failed = await relay.line("WatchFailed");
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(`${failed["code"]} ${failed["message"]} ${await answer.text()}`).toContain(why);
}

async function untilReady(relay: Running): Promise<void> {
  const { url } = await relay.line("Serving");
  await waitUntil("the relay to be ready", async () => (await fetch(`${url}/readyz`)).ok, HEAL_TIMEOUT_MS);
}

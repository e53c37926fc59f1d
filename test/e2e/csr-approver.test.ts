import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { type Running, startProgram } from "#test/cli/program.ts";
import { type Answered, type ApproverUnderTest, CSRS, startApprover } from "#test/csr/approver-under-test.ts";
import { createSigningRequest } from "#test/csr/signing-request.ts";
import { describeRight, grant, listRights, readRoles, removeRight } from "#test/e2e/granted-rights.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { listUsedRights } from "#test/witness/requests.ts";

const ROLES = {
  relay: await readRoles("csr-approver/relay.yaml"),
  csr: await readRoles("csr-approver/csr.yaml"),
};

/** The purpose of each right, as its loss shows. */
const LOSSES: readonly { readonly of: keyof typeof ROLES; readonly without: string; readonly loss: Loss }[] =
  [
    { of: "relay", without: "list certificatesigningrequests", loss: "not ready" },
    { of: "relay", without: "watch certificatesigningrequests", loss: "not ready" },
    { of: "csr", without: "patch certificatesigningrequests/approval", loss: "pending" },
    { of: "csr", without: "approve signers", loss: "pending" },
    { of: "csr", without: "get certificatesigningrequests", loss: "conflict unread" },
    { of: "csr", without: "create events", loss: "no Event" },
  ];
type Loss = "not ready" | "pending" | "conflict unread" | "no Event";

/** Long enough for another client to be faster, in milliseconds. */
const LATENCY_MS = 1_000;
const WAIT = { timeout: 60_000, interval: 50 };
/** As many as fit next to the others': of one resource 10,000 objects are followed. */
const FLOOD = 9_900;

describeWithPart("control-plane", "run with the csr-approver", (binaries) => {
  let approver: ApproverUnderTest;
  let folder: string;
  let ccm: Running | undefined;
  let recordsBefore = 0;

  beforeAll(async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    vi.stubEnv("AWS_ENDPOINT_URL_EC2", "");
    folder = await mkdtemp(join(tmpdir(), "csr-"));
    approver = await startApprover(binaries);
    await writeFile(join(folder, "cloud.yaml"), `region: ${approver.ec2.region}\nvpc: ${DEFAULT_VPC_ID}\n`);
  });
  afterAll(async () => {
    await approver?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
    vi.unstubAllEnvs();
  });
  beforeEach(async () => {
    recordsBefore = (await approver.cluster.plane.record()).length;
  });
  afterEach(async () => {
    await ccm?.end("SIGKILL");
    ccm = undefined;
    approver.ec2.set({ latencyMs: 0 });
    await approver.clear();
    for (const of of ["relay", "csr"] as const) await grant(approver.cluster, of, ROLES[of], ROLES[of]);
  });

  async function start(controllers = "csr-approver"): Promise<void> {
    const { plane } = approver.cluster;
    const flags = ["--cloud-provider", "aws", "--cloud-config", join(folder, "cloud.yaml"), "--port", "0"];
    flags.push(...(await buildIdentityFlags(plane)), "--controllers", controllers);
    ccm = startProgram(["run", ...flags], { AWS_ENDPOINT_URL_EC2: approver.ec2.url });
    await ccm.line("Serving");
  }

  async function submitted({ name, ip }: { readonly name: string; readonly ip: string }): Promise<Answered> {
    const names = [
      { type: "ip" as const, value: ip },
      { type: "dns" as const, value: name },
    ];
    const request = await approver.submit(name, await createSigningRequest(name, { names }));
    expect(request.code).toBe(201);
    return request;
  }

  async function untilDecided(request: Answered, decision = "Approved InstanceVerified"): Promise<void> {
    await vi.waitFor(async () => expect(await approver.conditions(request)).toEqual([decision]), WAIT);
  }

  const since = async () => (await approver.cluster.plane.record()).slice(recordsBefore);

  test("a node comes up, asks for its certificate, and has it approved", async () => {
    await start("*,csr");
    const node = await approver.node();
    await vi.waitFor(async () => {
      const { spec, status } = await approver.cluster.read(node.name);
      expect(spec.taints?.map(({ key }) => key)).toEqual(["node.kubernetes.io/not-ready"]);
      expect(status.addresses).toContainEqual({ type: "InternalIP", address: node.ip });
    }, WAIT);
    await untilDecided(await submitted(node));
  });

  test("is absent unless it is enabled", async () => {
    await start("*");
    const node = await approver.node();
    const request = await submitted(node);
    await vi.waitFor(
      async () => expect((await approver.cluster.read(node.name)).status.addresses).toHaveLength(3),
      WAIT,
    );
    expect(await approver.conditions(request)).toEqual([]);
    const asked = (await since()).filter(
      ({ user, resource }) => user.startsWith("serverless-ccm") && /certificate/.test(resource),
    );
    expect(asked).toEqual([]);
  });

  test("requests that wait for their node, or for the cloud, are approved when these come", async () => {
    await start();
    const [late, hidden] = [
      await approver.node({}, { joins: false }),
      await approver.node({ visibleAfterMs: "until-revealed" }),
    ];
    const requests = [await submitted(late), await submitted(hidden)] as const;
    await vi.waitFor(
      () =>
        expect(JSON.stringify(ccm?.lines)).toMatch(
          /NodeUnknown.*InstanceNotFound|InstanceNotFound.*NodeUnknown/,
        ),
      WAIT,
    );
    await approver.join(late);
    await untilDecided(requests[0]);
    approver.ec2.reveal(hidden.id);
    await untilDecided(requests[1]);
  });

  test(`${FLOOD} requests of one node do not keep another's from being approved`, {
    timeout: 240_000,
  }, async () => {
    const [hostile, other] = [await approver.node(), await approver.node()];
    const text = await createSigningRequest(hostile.name, { names: [{ type: "ip", value: other.ip }] });
    const codes = await Promise.all(
      Array.from(
        { length: FLOOD },
        async () => (await approver.submit(hostile.name, text, {}, "impersonated")).code,
      ),
    );
    expect(new Set(codes)).toEqual(new Set([201]));
    const before = approver.ec2.record().length;
    await start();
    await untilDecided(await submitted(other));
    await vi.waitFor(async () => expect(await approver.events(hostile.name)).toHaveLength(1), WAIT);
    // Each batch calls at most once, and there are few more batches than one check of each request needs.
    expect(approver.ec2.record().length - before).toBeLessThan((3 * FLOOD) / 100);
    const records = (await since()).filter(({ user }) => user === CONTROL_PLANE_USERS.csr.name);
    expect(
      records.filter(({ verb, resource }) => verb === "patch" && resource === "certificatesigningrequests"),
    ).toHaveLength(1);
  });

  test("the roles allow its work, and nothing else", async () => {
    approver.ec2.set({ latencyMs: LATENCY_MS });
    await start();
    const node = await approver.node();
    await conflict(node);
    await untilDecided(await submitted(node));
    const wrong = await createSigningRequest(node.name, { names: [] });
    await untilDecided(await approver.submit(node.name, wrong), "Denied NoNames");
    await vi.waitFor(async () => expect(await approver.events(node.name)).toHaveLength(1), WAIT);
    const records = await since();
    const used = (user: string) => listUsedRights(records, user);
    // The Lease may be due for renewal, or not.
    expect(used(CONTROL_PLANE_USERS.relay.name).filter((right) => right !== "patch leases")).toEqual(
      [...granted("relay"), "list nodes", "watch nodes"].sort(),
    );
    // Admission checks `approve signers` without a separate request; the row below shows it.
    const approve = "approve signers";
    expect([...used(CONTROL_PLANE_USERS.csr.name), approve].sort()).toEqual(granted("csr").sort());
    expect(used(CONTROL_PLANE_USERS.node.name)).toEqual([]);
  });

  test("the roles are tested right by right", () => {
    expect(LOSSES.map(({ of, without }) => `${of} ${without}`).sort()).toEqual(
      (["relay", "csr"] as const).flatMap((of) => granted(of).map((right) => `${of} ${right}`)).sort(),
    );
  });

  test.each(LOSSES)("without $without of the $of: $loss", async ({ of, without, loss }) => {
    approver.ec2.set({ latencyMs: LATENCY_MS });
    await grant(approver.cluster, of, removeRight(ROLES[of], without), ROLES[of]);
    await start();
    const node = await approver.node();
    if (loss === "conflict unread") {
      await conflict(node);
      await refused("get", 403);
      return;
    }
    if (loss === "no Event") {
      const wrong = await createSigningRequest(node.name, { names: [] });
      await untilDecided(await approver.submit(node.name, wrong), "Denied NoNames");
      await refused("create", 403);
      expect(await approver.events(node.name)).toEqual([]);
      return;
    }
    const request = await submitted(node);
    if (loss === "pending") await refused("patch", 403);
    else await vi.waitFor(async () => expect(await readiness()).toMatch(/403|forbidden/i), WAIT);
    expect(await approver.conditions(request)).toEqual([]);
  });

  async function refused(verb: string, code: number): Promise<void> {
    await vi.waitFor(async () => {
      const records = (await since()).filter((record) => record.user === CONTROL_PLANE_USERS.csr.name);
      expect(records.filter((record) => record.verb === verb && record.code === code)).not.toEqual([]);
    }, WAIT);
  }

  /** While the cloud answers about its node, another client denies a request. */
  async function conflict(node: { readonly name: string; readonly ip: string }): Promise<void> {
    const asked = approver.ec2.record().length;
    const request = await submitted(node);
    await vi.waitFor(() => expect(approver.ec2.record().length).toBeGreaterThan(asked), WAIT);
    const admin = await approver.cluster.transport("admin");
    const answer = await admin.send({
      method: "PATCH",
      path: `${CSRS}/${request.metadata.name}/approval`,
      contentType: "application/merge-patch+json",
      body: { status: { conditions: [{ type: "Denied", status: "True", reason: "Faster", message: "" }] } },
    });
    expect(answer.status).toBe(200);
    await vi.waitFor(async () => {
      const seen = (await since()).filter(
        ({ name, user }) => name === request.metadata.name && user === CONTROL_PLANE_USERS.csr.name,
      );
      expect(seen.map(({ verb }) => verb)).toContain("get");
    }, WAIT);
  }

  async function readiness(): Promise<string> {
    const { url } = (await ccm?.line("Serving")) ?? {};
    const answer = await fetch(`${url}/readyz`);
    return `${answer.status} ${await answer.text()}`;
  }
});

function granted(of: keyof typeof ROLES): string[] {
  return listRights(ROLES[of]).map(describeRight);
}

import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { buildApproval } from "#core/csr/controller.ts";
import { CertificateSigningRequest } from "#core/csr/csr.ts";
import { sendWrite } from "#kube/apply/requests.ts";
import { type Answered, type ApproverUnderTest, startApprover } from "#test/csr/approver-under-test.ts";
import { createSigningRequest, type SigningRequestSpec } from "#test/csr/signing-request.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const OF_OTHERS = "serverless-ccm.test/other-tenant";

describeWithPart("control-plane", "the csr-approver on a real API server", (binaries) => {
  let approver: ApproverUnderTest;
  let callsBefore = 0;

  beforeAll(async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
    vi.stubEnv("AWS_ENDPOINT_URL_EC2", "");
    approver = await startApprover(binaries);
  });
  afterAll(async () => {
    await approver?.close();
    vi.unstubAllEnvs();
  });
  beforeEach(async () => {
    await approver.clear();
    await approver.requests();
    callsBefore = approver.ec2.record().length;
  });

  /** EC2's calls of this test. */
  const calls = () =>
    approver.ec2
      .record()
      .slice(callsBefore)
      .map(({ action }) => action);
  const ip = (value: string) => ({ type: "ip" as const, value });
  const dns = (value: string) => ({ type: "dns" as const, value });

  /** Submits as the node itself, and fails the test unless the API server accepts it. */
  async function submitted(name: string, spec?: SigningRequestSpec, more?: object): Promise<Answered> {
    const answer = await approver.submit(name, await createSigningRequest(name, spec), { ...more });
    if (answer.code !== 201) throw new Error(`${answer.code} ${answer.message}`);
    return answer;
  }

  const parsed = async (request: Answered) => CertificateSigningRequest.parse(await approver.read(request));

  test("approves what a kubelet asks for, with one patch and no read", async () => {
    const node = await approver.node();
    const request = await submitted(node.name, { names: [dns(node.name), ip(node.ip)] });
    const [report] = await approver.pass();
    expect(report?.objects).toMatchObject([{ outcome: "changed", because: { code: "InstanceVerified" } }]);
    expect(await approver.conditions(request)).toEqual(["Approved InstanceVerified"]);
    expect(await approver.requests()).toEqual(["patch certificatesigningrequests/approval 200"]);
    expect(await approver.events(node.name)).toEqual([]);
    expect(await approver.pass()).toEqual([]);
  });

  describe("denies for good", () => {
    test.each<[string, SigningRequestSpec, object, string]>([
      ["no name", { names: [] }, {}, "NoNames"],
      ["a wildcard", { names: [dns("*.example.com")] }, {}, "WildcardForbidden"],
      ["an e-mail address", { names: [{ type: "email", value: "a@b" }] }, {}, "EmailAddressForbidden"],
      ["a URI", { names: [{ type: "url", value: "spiffe://a" }] }, {}, "URIForbidden"],
      ["an extra organization", { organizations: ["system:nodes", "x"] }, {}, "OrganizationForbidden"],
      ["a client's usages", {}, { usages: ["digital signature", "client auth"] }, "UsagesForbidden"],
    ])("%s", async (_, spec, more, code) => {
      const node = await approver.node();
      const request = await submitted(node.name, spec, more);
      expect(await approver.passOver(request)).toMatchObject({ outcome: "changed", because: { code } });
      expect(await approver.conditions(request)).toEqual([`Denied ${code}`]);
      expect(await approver.requests()).toEqual([
        "patch certificatesigningrequests/approval 200",
        "create events 201",
        "create events 201",
      ]);
      expect(await approver.events(node.name)).toMatchObject([{ reason: "ServingCertificate" }]);
      expect(await approver.eventsOnRequest(request)).toMatchObject([{ reason: "ServingCertificate" }]);
    });
  });

  describe("leaves pending, and says on the node why", () => {
    test.each<[string, (other: { name: string; ip: string }) => SigningRequestSpec, string, RegExp]>([
      ["another node's address", (other) => ({ names: [ip(other.ip)] }), "NameNotOfInstance", /: 10\./],
      ["another node's name", (other) => ({ names: [dns(other.name)] }), "NameNotOfInstance", /: ip-10-/],
      ["an unknown address", () => ({ names: [ip("192.0.2.1")] }), "NameNotOfInstance", /: 192\.0\.2\.1$/],
      [
        "a certificate authority's extension",
        () => ({ extensions: [new x509.BasicConstraintsExtension(true)] }),
        "RequestUnusual",
        /what no kubelet asks for$/,
      ],
      [
        "more than is read",
        () => ({ names: Array.from({ length: 8_000 }, (_, index) => dns(`name-${index}.example`)) }),
        "RequestTooLarge",
        /too large/,
      ],
    ])("%s", async (_, spec, code, says) => {
      const [node, other] = [await approver.node(), await approver.node()];
      const request = await submitted(node.name, spec(other));
      expect(await approver.passOver(request)).toMatchObject({ outcome: "retry", because: { code } });
      expect(await approver.conditions(request)).toEqual([]);
      expect(await approver.requests()).toEqual(["create events 201", "create events 201"]);
      const [event, ...more] = await approver.events(node.name);
      expect(event?.message).toMatch(says);
      expect(more).toEqual([]);
      expect(await approver.events(other.name)).toEqual([]);
    });

    test("each of several requests of one node, on the request itself, too", async () => {
      const [node, other] = [await approver.node(), await approver.node()];
      approver.stopTheClock();
      const requests = [];
      for (const value of [other.ip, "192.0.2.1", "192.0.2.2"])
        requests.push(await submitted(node.name, { names: [ip(value)] }));
      await approver.pass();
      for (const request of requests) {
        const [event, ...more] = await approver.eventsOnRequest(request);
        expect(event).toMatchObject({ reason: "ServingCertificate" });
        expect(event?.message).toContain(
          `CertificateSigningRequest ${request.metadata.name} is not approved`,
        );
        expect(more).toEqual([]);
      }
      expect(await approver.events(node.name)).toHaveLength(1);
    });

    test("more than 128 KB", async () => {
      const node = await approver.node();
      const names = Array.from({ length: 8_000 }, (_, index) => dns(`name-${index}.example`));
      expect((await createSigningRequest(node.name, { names })).length).toBeGreaterThan(128 * 1_024);
    });

    test("the instance of another cluster, without any report", async () => {
      const node = await approver.node({ vpcId: "vpc-of-others", tags: { [OF_OTHERS]: "owned" } });
      const request = await submitted(node.name, { names: [ip(node.ip)] });
      const report = await approver.passOver(request);
      expect(report).toMatchObject({ outcome: "retry", because: { code: "Foreign" } });
      expect(report?.because.message).toContain("vpc-of-others");
      expect(await approver.conditions(request)).toEqual([]);
      expect(JSON.stringify(await approver.events(node.name))).not.toMatch(/vpc|tag|tenant/);
    });
  });

  describe("approves once it can", () => {
    test("a request created before its node", async () => {
      const node = await approver.node({}, { joins: false });
      const request = await submitted(node.name, { names: [ip(node.ip)] });
      expect(await approver.passOver(request)).toMatchObject({ because: { code: "NodeUnknown" } });
      expect(calls()).toEqual([]);
      await approver.join(node);
      expect(await approver.passOver(request)).toMatchObject({ outcome: "changed" });
      expect(await approver.conditions(request)).toEqual(["Approved InstanceVerified"]);
    });

    test("a request created before the cloud shows the instance", async () => {
      const node = await approver.node({ visibleAfterMs: "until-revealed" });
      const request = await submitted(node.name, { names: [ip(node.ip)] });
      expect(await approver.passOver(request)).toMatchObject({ because: { code: "InstanceNotFound" } });
      approver.ec2.reveal(node.id);
      expect(await approver.passOver(request)).toMatchObject({ outcome: "changed" });
    });

    test("a request of an instance that runs again", async () => {
      const node = await approver.node({ state: "stopped" });
      const request = await submitted(node.name, { names: [ip(node.ip)] });
      expect(await approver.passOver(request)).toMatchObject({ because: { code: "InstanceNotRunning" } });
      approver.ec2.setState(node.id, "running");
      expect(await approver.passOver(request)).toMatchObject({ outcome: "changed" });
    });
  });

  describe("the API server itself refuses", () => {
    test.each(["system:node:other", "kube-apiserver", null])("the common name %s", async (commonName) => {
      const node = await approver.node();
      const answer = await approver.submit(node.name, await createSigningRequest(node.name, { commonName }));
      expect([answer.code, answer.message]).toEqual([403, expect.stringContaining("CN=system:node:")]);
    });

    test.each([
      "",
      "rubbish",
      "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
    ])("what is no signing request: %j", async (text) => {
      const node = await approver.node();
      expect(await approver.submit(node.name, text)).toMatchObject({ code: 403 });
    });
  });

  describe("costs", () => {
    test("of 1,000 nodes at once: a call to the cloud for 100, and a write each", async () => {
      const nodes = await Promise.all(Array.from({ length: 1_000 }, () => approver.node()));
      const requests = await Promise.all(
        nodes.map(async ({ name, ip: address }) => {
          const text = await createSigningRequest(name, { names: [dns(name), ip(address)] });
          return approver.submit(name, text, {}, "impersonated");
        }),
      );
      expect(new Set(requests.map(({ code }) => code))).toEqual(new Set([201]));
      await approver.requests();
      const reports = await approver.pass();
      expect(reports).toHaveLength(10);
      const outcomes = reports.flatMap(({ objects }) => objects.map(({ outcome }) => outcome));
      expect(outcomes).toEqual(Array(1_000).fill("changed"));
      expect(calls()).toEqual(Array(10).fill("DescribeInstances"));
      expect(counted(await approver.requests())).toEqual({
        "patch certificatesigningrequests/approval 200": 1_000,
      });
    });

    test("of 10,000 requests of one node: a call and at most six Events for 100, and one Event on the node", async () => {
      const [node, other] = [await approver.node(), await approver.node()];
      const wrong = await parsed(await submitted(node.name, { names: [ip(other.ip)] }));
      const right = await submitted(other.name, { names: [ip(other.ip)] });
      approver.stopTheClock();
      for (let batch = 0; batch < 100; batch += 1) {
        const flood = Array.from({ length: 100 }, (_, index) => {
          const name = `flood-${batch}-${index}`;
          return { ...wrong, metadata: { ...wrong.metadata, name, uid: name } };
        });
        const sent = batch === 99 ? [...flood.slice(1), await parsed(right)] : flood;
        const { objects } = await approver.invoke(sent);
        const pending = objects.filter(({ because }) => because.code === "NameNotOfInstance");
        expect(pending).toHaveLength(batch === 99 ? 99 : 100);
      }
      expect(await approver.conditions(right)).toEqual(["Approved InstanceVerified"]);
      expect(calls()).toEqual(Array(100).fill("DescribeInstances"));
      expect(await approver.events(node.name)).toHaveLength(1);
      const requests = counted(await approver.requests());
      const { "create events 201": made = 0, "create events 409": again = 0, ...others } = requests;
      expect(others).toEqual({ "patch certificatesigningrequests/approval 200": 1 });
      expect(made + again).toBeLessThanOrEqual(600);
      expect(again).toBeGreaterThanOrEqual(99);
    });
  });

  describe("an approval", () => {
    const verdicts = { Approved: "InstanceVerified", Denied: "NoNames" } as const;
    const send = async (request: Answered, type: "Approved" | "Denied", uid?: string) => {
      const csr = await parsed(request);
      const metadata = { ...csr.metadata, uid: uid ?? csr.metadata.uid };
      const write = buildApproval({ ...csr, metadata }, { code: verdicts[type], facts: {} }, new Date());
      return sendWrite(await approver.cluster.transport("csr"), write, new AbortController().signal);
    };

    test("of another request of that name is refused", async () => {
      const { name } = await approver.node();
      const request = await submitted(name);
      expect(await send(request, "Approved", "5f0c2b5e-0000-4000-8000-000000000000")).toMatchObject({
        kind: "conflict",
      });
      expect(await approver.conditions(request)).toEqual([]);
    });

    test.each(["Approved", "Denied"] as const)("of what is %s already is refused", async (type) => {
      const { name } = await approver.node();
      const request = await submitted(name);
      expect(await send(request, type)).toMatchObject({ kind: "applied" });
      expect(await send(request, "Approved")).toMatchObject({ kind: "conflict" });
      expect(await approver.conditions(request)).toEqual([`${type} ${verdicts[type]}`]);
    });

    test("decided by someone else first stays theirs after one read", async () => {
      const node = await approver.node();
      const request = await submitted(node.name, { names: [ip(node.ip)] });
      const before = await parsed(request);
      await send(request, "Denied");
      await approver.requests();
      expect((await approver.invoke([before])).objects).toMatchObject([{ outcome: "unchanged" }]);
      expect(await approver.conditions(request)).toEqual(["Denied NoNames"]);
      expect(await approver.requests()).toEqual([
        "patch certificatesigningrequests/approval 422",
        "get certificatesigningrequests 200",
      ]);
    });

    test("of another signer's request is forbidden", async () => {
      const { name } = await approver.node();
      const request = await approver.submit(name, await createSigningRequest(name), {
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      });
      expect(request.code).toBe(201);
      expect(await approver.pass()).toEqual([]);
      expect(await send(request, "Approved")).toMatchObject({
        kind: "rejected",
        message: expect.stringContaining("kubernetes.io/kube-apiserver-client-kubelet"),
      });
      expect(await approver.conditions(request)).toEqual([]);
    });

    test("for an administrator's request in a node's name is left to its approver", async () => {
      const node = await approver.node();
      const text = await createSigningRequest(node.name, { names: [ip(node.ip)] });
      const request = await approver.submit(node.name, text, {}, "admin");
      expect(request.code).toBe(201);
      expect(await approver.pass()).toEqual([]);
      expect(await approver.conditions(request)).toEqual([]);
    });
  });
});

function counted(lines: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(lines, (line) => line)].map(([line, all]) => [line, all.length]));
}

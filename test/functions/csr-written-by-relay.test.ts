import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type ApproverUnderTest, startApprover } from "#test/csr/approver-under-test.ts";
import { createSigningRequest } from "#test/csr/signing-request.ts";
import { describeWithPart } from "#test/setup/parts.ts";

describeWithPart(
  "control-plane",
  "the csr-approver that cannot reach the API server, and a relay that writes",
  (binaries) => {
    let approver: ApproverUnderTest;

    beforeAll(async () => {
      vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
      vi.stubEnv("AWS_ENDPOINT_URL_EC2", "");
      approver = await startApprover(binaries, "relay");
    });
    afterAll(async () => {
      await approver?.close();
      vi.unstubAllEnvs();
    });
    beforeEach(async () => {
      await approver.clear();
      await approver.requests();
    });

    test("what a kubelet asks for is approved with one patch, in the approver's stead", async () => {
      const node = await approver.node();
      const names = [
        { type: "dns" as const, value: node.name },
        { type: "ip" as const, value: node.ip },
      ];
      const request = await approver.submit(node.name, await createSigningRequest(node.name, { names }));
      expect(await approver.passOver(request)).toMatchObject({
        outcome: "changed",
        because: { code: "InstanceVerified" },
      });
      expect(await approver.conditions(request)).toEqual(["Approved InstanceVerified"]);
      expect(await approver.requests()).toEqual(["patch certificatesigningrequests/approval 200"]);
      expect(await approver.pass()).toEqual([]);
    });

    test("a request that no kubelet may make is denied, and its node gets an Event", async () => {
      const node = await approver.node();
      const request = await approver.submit(node.name, await createSigningRequest(node.name, { names: [] }));
      expect(await approver.passOver(request)).toMatchObject({
        outcome: "changed",
        because: { code: "NoNames" },
      });
      expect(await approver.conditions(request)).toEqual(["Denied NoNames"]);
      expect(await approver.requests()).toEqual([
        "patch certificatesigningrequests/approval 200",
        "create events 201",
        "create events 201",
      ]);
      expect(await approver.events(node.name)).toMatchObject([{ reason: "ServingCertificate" }]);
    });
  },
);

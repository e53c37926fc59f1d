import { beforeAll, describe, expect, test } from "vitest";
import { createImpersonator } from "#test/csr/impersonated.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";
import {
  type Answered,
  ask,
  createNodeName,
  JSON_PATCH,
  MERGE_PATCH,
  type Running,
} from "#test/emulators/control-plane/client.ts";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const SERVING = "kubernetes.io/kubelet-serving";
const APPROVED = { type: "Approved", status: "True", reason: "Tested", message: "m" };
const DENIED = { ...APPROVED, type: "Denied" };

/** Describes certificate signing requests and their subresource `approval`. */
export function describeCertificateRequests(running: Running): void {
  describe("certificate signing requests", () => {
    let request = "";
    beforeAll(async () => {
      request = toBase64(await createSigningRequest("a"));
    });

    const create = (spec: object = {}, rest: object = {}): Promise<Answered> =>
      ask(running(), {
        method: "POST",
        path: CSRS,
        body: {
          apiVersion: "certificates.k8s.io/v1",
          kind: "CertificateSigningRequest",
          metadata: { name: createNodeName("csr") },
          spec: { signerName: SERVING, usages: ["digital signature", "server auth"], request, ...spec },
          ...rest,
        },
      });
    const patch = (path: string, body: unknown, contentType = JSON_PATCH): Promise<Answered> =>
      ask(running(), { method: "PATCH", path: `${CSRS}/${path}`, body, contentType });
    const approve = ({ metadata }: Answered, condition: object = APPROVED): Promise<Answered> =>
      patch(`${metadata.name}/approval`, [
        { op: "test", path: "/metadata/uid", value: metadata.uid },
        { op: "test", path: "/status/conditions", value: null },
        { op: "add", path: "/status/conditions", value: [condition] },
      ]);
    const read = ({ metadata }: Answered): Promise<Answered> =>
      ask(running(), { method: "GET", path: `${CSRS}/${metadata.name}` });

    test("a new one names its real requester, whatever its spec claims, and has no status", async () => {
      const claims = { username: "system:node:a", groups: ["system:nodes"] };
      const created = await create(claims, { status: { conditions: [APPROVED] } });
      expect(created).toMatchObject({
        code: 201,
        kind: "CertificateSigningRequest",
        apiVersion: "certificates.k8s.io/v1",
        spec: {
          signerName: SERVING,
          request,
          usages: ["digital signature", "server auth"],
          username: "admin",
          groups: ["system:masters", "system:authenticated"],
        },
        status: {},
      });
      expect(created.status).toEqual({});
      expect(await read(created)).toEqual({ ...created, code: 200 });
    });

    test("one that an administrator creates by impersonation belongs to the impersonated user", async () => {
      const impersonator = await createImpersonator(running().plane);
      const spec = { signerName: SERVING, usages: ["digital signature", "server auth"], request };
      const body = {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { name: createNodeName("csr") },
        spec,
      };
      // The group allows it to create them, with any other rights of nodes on this server.
      const answer = await impersonator.post(CSRS, body, "system:node:a", "system:masters");
      impersonator.close();
      expect(answer.status).toBe(201);
      expect(JSON.parse(answer.body).spec).toMatchObject({ username: "system:node:a", request });
    });

    test.each([
      "",
      "rubbish",
      "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
    ])("an empty request is rejected: %j", async (text) => {
      expect(await create({ request: toBase64(text) })).toMatchObject({
        code: 422,
        reason: "Invalid",
        details: { causes: [{ field: "spec.request" }] },
      });
    });

    test("is approved by one patch that tests the uid and the absence of conditions", async () => {
      const created = await create();
      const lastUpdateTime = "2026-03-01T12:00:00Z";
      const approved = await approve(created, { ...APPROVED, lastUpdateTime });
      expect(approved).toMatchObject({
        code: 200,
        status: { conditions: [{ ...APPROVED, lastUpdateTime }] },
      });
      expect(JSON.stringify(approved.status)).toMatch(/"lastTransitionTime":"\d{4}-/);
      expect((await read(created)).status).toEqual(approved.status);
    });

    test.each([APPROVED, DENIED])("accepts only one decision: $type", async (condition) => {
      const created = await create();
      expect((await approve(created, condition)).code).toBe(200);
      const again = await approve(created);
      expect([again.code, again.message]).toEqual([
        422,
        "the server rejected our request due to an error in our request",
      ]);
      expect((await read(created)).status).toMatchObject({ conditions: [{ type: condition.type }] });
    });

    test("is not approved by the uid of another", async () => {
      const created = await create();
      const other = {
        ...created,
        metadata: { ...created.metadata, uid: "5f0c2b5e-0000-4000-8000-000000000000" },
      };
      expect((await approve(other)).code).toBe(422);
      expect((await read(created)).status).toEqual({});
    });

    test.each([
      { to: "taken back", conditions: [] },
      { to: "turned around", conditions: [DENIED] },
      { to: "both", conditions: [APPROVED, DENIED] },
    ])("a decision cannot be $to", async ({ conditions }) => {
      const created = await create();
      await approve(created);
      const path = `${created.metadata.name}/approval`;
      const changed = await patch(path, [{ op: "add", path: "/status/conditions", value: conditions }]);
      expect(changed).toMatchObject({ code: 422, reason: "Invalid" });
      expect((await read(created)).status).toMatchObject({ conditions: [APPROVED] });
    });

    test("approval changes only conditions, and no other write changes them", async () => {
      const created = await create();
      const { name } = created.metadata;
      await patch(
        `${name}/approval`,
        { spec: { usages: ["client auth"] }, status: { certificate: "AAAA" } },
        MERGE_PATCH,
      );
      await patch(name, { status: { conditions: [APPROVED] } }, MERGE_PATCH);
      const after = await read(created);
      expect(after.status).toEqual({});
      expect(after.spec).toEqual(created.spec);
    });

    test("are found by their signer", async () => {
      const other = await create({ signerName: "example.com/serving" });
      const query = `fieldSelector=spec.signerName%3Dexample.com%2Fserving`;
      const {
        items = [],
        apiVersion,
        kind,
      } = await ask(running(), { method: "GET", path: `${CSRS}?${query}` });
      expect([apiVersion, kind]).toEqual(["certificates.k8s.io/v1", "CertificateSigningRequestList"]);
      expect(items.map(({ metadata }) => metadata.name)).toEqual([other.metadata.name]);
    });

    test("do not exist in another API group", async () => {
      const paths = ["/api/v1/certificatesigningrequests", "/apis/certificates.k8s.io/v1/nodes"];
      for (const path of paths) expect((await ask(running(), { method: "GET", path })).code).toBe(404);
    });
  });
}

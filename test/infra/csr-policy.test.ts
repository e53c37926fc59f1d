import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KUBELET_SERVING_SIGNER } from "#core/csr/csr.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import type { ApiRequest, ApiResponse } from "#kube/client/transport.ts";
import { createSigningRequest, toBase64 } from "#test/csr/signing-request.ts";
import { add, getRefusal, type PolicyUnderTest, remove, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const JSON_PATCH = "application/json-patch+json";
const NODE = { name: "system:node:node-1", groups: ["system:nodes", "tenant"] };
/** Has a node's name without the nodes' group, like a tenant's user of that name. */
const STRANGER = { name: "system:node:node-2", groups: ["tenant"] };
/** Is in the nodes' group without a node's name. */
const MEMBER = { name: "member", groups: ["system:nodes", "tenant"] };
const NAMELESS = { name: "system:node:", groups: ["system:nodes", "tenant"] };

const condition = (type: string, status = "True") => ({
  ...{ type, status, reason: "InstanceVerified", message: "", lastUpdateTime: "2030-01-01T00:00:00Z" },
});
const decide = (...types: readonly string[]) => [
  add(
    "/status/conditions",
    types.map((type) => condition(type)),
  ),
];
const UNDECIDED = { op: "test", path: "/status/conditions", value: null };
const CERTIFICATE = (await createCertificateAuthority()).certificate;
const REQUEST = toBase64(await createSigningRequest("node-1"));

interface Row {
  readonly what: string;
  readonly patch: readonly unknown[];
  readonly by?: string;
  readonly signer?: string;
  /** The conditions of the stored request. */
  readonly conditions?: readonly object[];
  readonly on?: "/status" | "";
}

const ALLOWED: readonly Row[] = [
  { what: "approves", patch: decide("Approved") },
  { what: "denies", patch: decide("Denied") },
  // With tests of the uid and of the missing list, as the function sends it.
  { what: "approves an undecided request", patch: [UNDECIDED, ...decide("Approved")] },
  {
    what: "adds a condition behind another's",
    patch: [add("/status/conditions/-", condition("Failed"))],
    conditions: [condition("Approved")],
  },
  { what: "changes nothing", patch: [], conditions: [condition("Approved")] },
];

const REFUSED: readonly (Row & { readonly says: string })[] = [
  {
    what: "approves for another signer",
    patch: decide("Approved"),
    signer: "kubernetes.io/kube-apiserver-client-kubelet",
    says: "for the signer kubernetes.io/kubelet-serving alone",
  },
  { what: "approves for a user", patch: decide("Approved"), by: "admin", says: "on what a node asks for" },
  {
    what: "approves for a user of a node's name",
    patch: decide("Approved"),
    by: STRANGER.name,
    says: "on what a node asks for",
  },
  {
    what: "approves for a user of the nodes' group",
    patch: decide("Approved"),
    by: MEMBER.name,
    says: "on what a node asks for",
  },
  {
    what: "approves for no node",
    patch: decide("Approved"),
    by: NAMELESS.name,
    says: "on what a node asks for",
  },
  { what: "denies a user", patch: decide("Denied"), by: "admin", says: "on what a node asks for" },
  {
    what: "adds a condition of its own",
    patch: decide("Approved", "example.com/Mine"),
    says: "adds no condition but Approved, Denied and Failed",
  },
  {
    what: "removes a condition",
    patch: [remove("/status/conditions/0")],
    // The API server itself protects the deciding conditions.
    conditions: [condition("example.com/Theirs")],
    says: "neither changes nor removes a condition",
  },
  {
    what: "changes a condition's message",
    patch: [add("/status/conditions/0/message", "forged")],
    conditions: [condition("Failed")],
    says: "neither changes nor removes a condition",
  },
  {
    what: "labels by the approval",
    patch: [add("/metadata/labels", { a: "b" })],
    says: "nothing of the metadata: labels",
  },
  {
    what: "annotates by the approval",
    patch: [add("/metadata/annotations", { a: "b" })],
    says: "nothing of the metadata: annotations",
  },
  {
    what: "holds by a finalizer",
    patch: [add("/metadata/finalizers", ["example.com/hold"])],
    says: "nothing of the metadata: finalizers",
  },
  {
    what: "writes the certificate",
    patch: [add("/status/certificate", toBase64(CERTIFICATE))],
    on: "/status",
    says: "it decides on them",
  },
  {
    what: "changes the request",
    patch: [add("/metadata/labels", { a: "b" })],
    on: "",
    says: "it decides on them",
  },
];

describeWithPart("control-plane", "infra/admission/csr.yaml: the identity that approves", (binaries) => {
  let under: PolicyUnderTest;
  let count = 0;

  beforeAll(async () => {
    under = await startPolicy(
      binaries,
      ["csr.yaml"],
      (starting) => write({ patch: decide("Approved"), by: "admin" }, starting),
      {
        users: [NODE, STRANGER, MEMBER, NAMELESS],
        manifests: [fileURLToPath(new URL("all-powerful.yaml", import.meta.url))],
      },
    );
  });
  afterAll(() => under?.close());

  it.each(ALLOWED)("$what", async (row) => {
    expect(getRefusal(await write(row))).toEqual([200, ""]);
  });

  it.each(REFUSED)("never $what", async (row) => {
    expect(getRefusal(await write(row))).toEqual([422, expect.stringContaining(row.says)]);
  });

  it("neither creates nor deletes a request", async () => {
    const name = await made({ by: "admin" });
    const says = [422, expect.stringContaining("neither creates, changes nor deletes")];
    expect(getRefusal(await under.send("csr", { method: "DELETE", path: `${CSRS}/${name}` }))).toEqual(says);
    expect(getRefusal(await under.send("csr", creation("forged", KUBELET_SERVING_SIGNER)))).toEqual(says);
  });

  it("applies to no other identity", async () => {
    expect(getRefusal(await write({ patch: decide("Approved"), by: "admin" }, under, "admin"))).toEqual([
      200,
      "",
    ]);
  });

  async function write(
    { patch: body, on, ...row }: Omit<Row, "what">,
    by = under,
    user = "csr",
  ): Promise<ApiResponse> {
    const path = `${CSRS}/${await made(row, by)}${on ?? "/approval"}`;
    return by.send(user, { method: "PATCH", path, body, contentType: JSON_PATCH });
  }

  async function made(
    { by: requestor = NODE.name, signer = KUBELET_SERVING_SIGNER, conditions }: Partial<Row>,
    by = under,
  ): Promise<string> {
    const name = `csr-${++count}`;
    expect(getRefusal(await by.send(requestor, creation(name, signer)))).toEqual([201, ""]);
    if (conditions === undefined) return name;
    const isDecided = JSON.stringify(conditions).includes("Approved");
    const path = `${CSRS}/${name}/${isDecided ? "approval" : "status"}`;
    const body = [add("/status/conditions", conditions)];
    expect(
      getRefusal(await by.send("admin", { method: "PATCH", path, body, contentType: JSON_PATCH })),
    ).toEqual([200, ""]);
    return name;
  }

  function creation(name: string, signerName: string): ApiRequest {
    const usages = [
      "digital signature",
      signerName === KUBELET_SERVING_SIGNER ? "server auth" : "client auth",
    ];
    return {
      method: "POST",
      path: CSRS,
      body: {
        ...{ apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest", metadata: { name } },
        spec: { signerName, usages, request: REQUEST },
      },
    };
  }
});

import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { buildMarkedNode } from "#test/faults/foreign.ts";
import { isOurs, waitOnStage } from "#test/faults/stage.ts";
import type { World } from "#test/faults/world.ts";

/** An admission webhook of a tenant, which rejects our writes. */
export interface RefusingWebhook {
  /** Rejects so many more. */
  refuse(count: number): void;
  refused(): number;
  close(): Promise<void>;
}

interface Review {
  readonly request: {
    readonly uid: string;
    readonly name?: string;
    readonly userInfo: { readonly username: string };
  };
}

const PATH = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const NAME = "faults-refusing";

/** Starts the webhook's server and registers it; resolves once the API server calls it. */
export async function startRefusingWebhook(world: World): Promise<RefusingWebhook> {
  const authority = await createCertificateAuthority();
  const { certificate: cert, key } = await authority.issueServer();
  let left = 0;
  let refused = 0;
  let asked = 0;
  const server = createServer({ cert, key }, async (request, response) => {
    const { uid, userInfo } = ((await json(request)) as Review).request;
    asked += 1;
    const allowed = !isOurs(userInfo.username) || left === 0;
    if (!allowed) {
      left -= 1;
      refused += 1;
    }
    const status = { code: 403, message: "the tenant's webhook says no" };
    response.setHeader("content-type", "application/json");
    const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
    response.end(JSON.stringify({ ...review, response: { uid, allowed, ...(allowed ? {} : { status }) } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const body = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: NAME },
    webhooks: [
      {
        name: "refusing.faults.example.com",
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(authority.certificate).toString("base64"),
        },
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            resources: ["nodes", "nodes/status"],
            operations: ["CREATE", "UPDATE"],
          },
        ],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Fail",
      },
    ],
  };
  await world.ask({ method: "POST", path: PATH, body });
  await waitOnStage(
    "the API server to ask the webhook",
    async () => {
      const { node: body } = buildMarkedNode("faults-probe", "aws:///eu-central-1a/i-0123456789abcdef0");
      await world.admin.send({ method: "POST", path: "/api/v1/nodes?dryRun=All", body });
      return asked > 0;
    },
    30_000,
  );
  return {
    refuse: (count) => {
      left += count;
    },
    refused: () => refused,
    close: async () => {
      await world.ask({ method: "DELETE", path: `${PATH}/${NAME}` });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { buildAuthenticator } from "#core/authentication/trust.ts";
import { nodeController } from "#core/node/controller.ts";
import { type CertificateAuthority, createCertificateAuthority } from "#emulators/harness/certificates.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";
import { type EksWebhook, startEksWebhook } from "#test/sts/eks-webhook.ts";
import { type FakeSts, startFakeSts } from "#test/sts/fake-sts.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** An identity that signs in: each has an AWS role, a user in the cluster and a ServiceAccount. */
export type Who = "relay" | "node";
const WHO: readonly Who[] = ["relay", "node"];

/** A sign-in as written in the configuration. */
export type WrittenSignIn = z.input<typeof SignIn>;

export const AUDIENCE = "blue.example";
export const EKS_CLUSTER = "blue-eks";

/** Returns the ARN of an identity's AWS role. */
export function formatRoleArn(who: Who): string {
  return `arn:aws:iam::123456789012:role/serverless-ccm-${who}`;
}

/** A real API server that accepts every kind of sign-in. */
export interface SignInPlane {
  readonly plane: KubeApiserver;
  readonly folder: string;
  readonly admin: Transport;
  readonly issuer: LocalIssuer;
  readonly sts: FakeSts;
  readonly eks: EksWebhook;
  readonly clients: CertificateAuthority;
  /** Makes the API server accept client certificates of one more authority. */
  trustClients(authority: CertificateAuthority): Promise<void>;
  /** Returns a bound ServiceAccount token, which ends with the Secret that it is bound to. */
  serviceAccountToken(who: Who, secret: string): Promise<string>;
  /** Creates that Secret, or deletes it. */
  makeSecret(name: string): Promise<void>;
  endSecret(name: string): Promise<void>;
  /** Returns a cluster on it, with these sign-ins of relay and node function. */
  cluster(signIn: Record<Who, WrittenSignIn>, difference?: object): Cluster;
  /** Returns the API server's answer to a token: 401, or 403 or 404 for a known user. */
  statusOf(token: string): Promise<number>;
  /** Resolves when the API server rejects the token, which it caches for ten seconds. */
  untilRefused(token: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts the API server, with all services that it uses for authentication. */
export async function startSignInPlane(binaries: ControlPlaneBinaries): Promise<SignInPlane> {
  const folder = await mkdtemp(join(tmpdir(), "sign-in-plane-"));
  const issuer = await startIssuer();
  const sts = await startFakeSts(issuer);
  const entries = WHO.map((who) => {
    const name = `serverless-ccm-${who}`;
    return { roleName: name, username: name, groups: ["serverless-ccm"] };
  });
  const eks = await startEksWebhook({ folder, clusterName: EKS_CLUSTER, sts, entries });
  const clients = await createCertificateAuthority({ name: "clients" });
  const clientsFile = join(folder, "clients.crt");
  await writeFile(clientsFile, clients.certificate);
  const authentication = join(folder, "authentication.json");
  await writeFile(authentication, JSON.stringify(authenticationOf(issuer)));
  const plane = await startKubeApiserver({
    folder: join(folder, "plane"),
    binaries,
    flags: [
      `--client-ca-file=${clientsFile}`,
      `--authentication-config=${authentication}`,
      `--authentication-token-webhook-config-file=${eks.configFile}`,
      "--authentication-token-webhook-version=v1",
      "--authentication-token-webhook-cache-ttl=1ms",
    ],
  });
  const admin = connect(await getConnectOptions(plane, "admin"));
  await bindServiceAccounts(admin);
  const secrets = "/api/v1/namespaces/kube-system/secrets";
  const statusOf = async (token: string): Promise<number> => {
    const { server, certificateAuthority } = await getConnectOptions(plane, "admin");
    const authorization = async () => `Bearer ${token}`;
    const transport = connect({ server, certificateAuthority, authorization });
    try {
      return (await transport.send({ method: "GET", path: "/api/v1/nodes/unknown" })).status;
    } finally {
      await transport.close();
    }
  };

  return {
    plane,
    folder: join(folder, "plane"),
    admin,
    issuer,
    sts,
    eks,
    clients,
    async trustClients(authority) {
      await writeFile(clientsFile, `${clients.certificate}\n${authority.certificate}\n`);
      const clientCertificate = await authority.issueClient({ name: "any-user", groups: [] });
      await waitUntilTrue("the client authority to be read", async () => {
        const { certificateAuthority } = await getConnectOptions(plane, "admin");
        const tls = async () => ({ certificateAuthority, clientCertificate });
        const transport = connect({ server: plane.server, tls });
        const { status } = await transport.send({ method: "GET", path: "/api/v1/nodes" });
        await transport.close();
        return status === 403;
      });
    },
    async makeSecret(name) {
      await ask(admin, { method: "POST", path: secrets, body: { metadata: { name } } });
    },
    async endSecret(name) {
      await ask(admin, { method: "DELETE", path: `${secrets}/${name}` });
    },
    async serviceAccountToken(who, secret) {
      const boundObjectRef = { kind: "Secret", apiVersion: "v1", name: secret };
      const path = `/api/v1/namespaces/kube-system/serviceaccounts/serverless-ccm-${who}/token`;
      const body = { spec: { audiences: [], expirationSeconds: 3_600, boundObjectRef } };
      const { status } = (await askForJson(admin, { method: "POST", path, body })) as {
        readonly status: { readonly token: string };
      };
      return status.token;
    },
    cluster: (signIn, difference = {}) =>
      Cluster.parse({
        name: "blue",
        server: plane.server,
        certificateAuthorityFile: plane.certificateAuthorityFile,
        signIn,
        cloud: { provider: "memory", instancesFile: "unused" },
        controllers: [nodeController.name],
        ...difference,
      }),
    statusOf,
    async untilRefused(token) {
      await waitUntilTrue("the old token to be refused", async () => (await statusOf(token)) === 401);
    },
    async close() {
      await admin.close();
      await plane.close();
      await eks.close();
      await sts.close();
      await issuer.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Accepts two AWS roles for one audience, each as the user in our manifests. */
function authenticationOf({ issuer: url, certificateAuthority }: LocalIssuer): object {
  const entry = buildAuthenticator({
    issuer: { url, certificateAuthority },
    audiences: [AUDIENCE],
    roles: WHO.map((who) => ({ arn: formatRoleArn(who), user: `serverless-ccm-${who}` })),
  });
  return { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", jwt: [entry] };
}

/** Gives ServiceAccounts the rights of the users with the same names. */
async function bindServiceAccounts(admin: Transport): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  for (const who of WHO) {
    const name = `serverless-ccm-${who}`;
    const subjects = [{ kind: "ServiceAccount", namespace: "kube-system", name }];
    const metadata = { name: `${name}-account` };
    const post = (path: string, body: object) => ask(admin, { method: "POST", path, body });
    const roleRef = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name });
    await post("/api/v1/namespaces/kube-system/serviceaccounts", { metadata: { name } });
    await post(`${rbac}/clusterrolebindings`, { metadata, subjects, roleRef: roleRef("ClusterRole") });
    const namespace = who === "relay" ? "kube-system" : "default";
    await post(`${rbac}/namespaces/${namespace}/rolebindings`, {
      metadata,
      subjects,
      roleRef: roleRef("Role"),
    });
  }
}

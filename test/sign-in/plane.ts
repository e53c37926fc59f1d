import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as z from "zod";
import { Cluster } from "#config/cluster.ts";
import type { SignIn } from "#config/sign-in/kinds.ts";
import { authenticatorOf } from "#core/authentication/trust.ts";
import { nodeController } from "#core/node/controller.ts";
import { type CertificateAuthority, createCertificateAuthority } from "#emulators/harness/certificates.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { access } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { type LocalIssuer, startIssuer } from "#test/issuer/local-issuer.ts";
import { type EksWebhook, startEksWebhook } from "#test/sts/eks-webhook.ts";
import { type FakeSts, startFakeSts } from "#test/sts/fake-sts.ts";
import { untilTrue } from "#test/until-true.ts";

/** Who signs in here: each has a role on AWS, a user in the cluster and a ServiceAccount there. */
export type Who = "relay" | "node";
const WHO: readonly Who[] = ["relay", "node"];

/** A way to sign in, as it is written. */
export type WrittenSignIn = z.input<typeof SignIn>;

export const AUDIENCE = "blue.example";
export const EKS_CLUSTER = "blue-eks";

/** The role of AWS by which one signs in. */
export function roleArnOf(who: Who): string {
  return `arn:aws:iam::123456789012:role/serverless-ccm-${who}`;
}

/** A real API server that takes whatever there is a kind of sign-in for. */
export interface SignInPlane {
  readonly plane: KubeApiserver;
  readonly folder: string;
  readonly admin: Transport;
  readonly issuer: LocalIssuer;
  readonly sts: FakeSts;
  readonly eks: EksWebhook;
  readonly clients: CertificateAuthority;
  /** Makes the API server take client certificates of one more authority. */
  trustClients(authority: CertificateAuthority): Promise<void>;
  /** A bound token of a ServiceAccount, which ends with the Secret that it is bound to. */
  serviceAccountToken(who: Who, secret: string): Promise<string>;
  /** Makes a Secret for that, or ends it. */
  makeSecret(name: string): Promise<void>;
  endSecret(name: string): Promise<void>;
  /** A cluster on it of which relay and function node sign in so. */
  cluster(signIn: Record<Who, WrittenSignIn>, difference?: object): Cluster;
  /** What the API server answers to a token: 401, or 403 or 404 where it knows whose that is. */
  statusOf(token: string): Promise<number>;
  /** Resolves once it refuses the token: it believes for ten seconds what it has seen. */
  untilRefused(token: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts it, with all that it asks about who signs in. */
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
  const admin = connect(await access(plane, "admin"));
  await bindServiceAccounts(admin);
  const secrets = "/api/v1/namespaces/kube-system/secrets";
  const statusOf = async (token: string): Promise<number> => {
    const { server, certificateAuthority } = await access(plane, "admin");
    const authorization = async () => `Bearer ${token}`;
    const transport = connect({ server, certificateAuthority, authorization });
    try {
      return (await transport.send({ method: "GET", path: "/api/v1/nodes/nobody" })).status;
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
      const clientCertificate = await authority.issueClient({ name: "anybody", groups: [] });
      await untilTrue("the client authority to be read", async () => {
        const { certificateAuthority } = await access(plane, "admin");
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
      await untilTrue("the old token to be refused", async () => (await statusOf(token)) === 401);
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

/** Two roles of AWS are taken, for one audience; each is the user that our manifests name. */
function authenticationOf({ issuer: url, certificateAuthority }: LocalIssuer): object {
  const entry = authenticatorOf({
    issuer: { url, certificateAuthority },
    audiences: [AUDIENCE],
    roles: WHO.map((who) => ({ arn: roleArnOf(who), user: `serverless-ccm-${who}` })),
  });
  return { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", jwt: [entry] };
}

/** ServiceAccounts that may what the users of the same names may. */
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

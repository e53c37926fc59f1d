import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { applyManifests } from "#emulators/harness/apply-manifests.ts";
import { AUDIT_POLICY, type AuditRecord, openAuditLog } from "#emulators/harness/audit-log.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import {
  CONTROL_PLANE_USERS,
  type ControlPlane,
  type ControlPlaneUser,
} from "#emulators/harness/control-plane.ts";
import { type Etcd, startEtcd } from "#emulators/harness/etcd.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { connect } from "#kube/client/connect.ts";

/** The programs of a control plane, by path. */
export interface ControlPlaneBinaries {
  readonly kubeApiserver: string;
  readonly etcd: string;
  /** Only `restore` needs it. */
  readonly etcdutl?: string;
}

export interface KubeApiserverOptions {
  /** For all files of the control plane; created if missing, and removed by the caller after `close`. */
  readonly folder: string;
  readonly binaries: ControlPlaneBinaries;
  /** In addition to those of every control plane. */
  readonly users?: readonly ControlPlaneUser[];
  /** Files or folders of manifests applied at the start; default: OUR_MANIFESTS. */
  readonly manifests?: readonly string[];
  /** Flags of kube-apiserver, which take precedence over the defaults here. */
  readonly flags?: readonly string[];
}

/** What every cluster has of ours: rights, and the objects that the identities keep there. */
export const OUR_MANIFESTS: readonly string[] = ["rbac", "state"].map((folder) =>
  join(PROJECT_FOLDER, "infra", folder),
);

/** Allows the relay to write in place of the functions. */
export const WRITES_RELAY: string = join(PROJECT_FOLDER, "infra/rbac/writes-relay");

/** Allows the relay to follow what announces machines. */
export const LOOK_AHEAD: readonly string[] = ["node-claims", "kubelet-csrs"].map((source) =>
  join(PROJECT_FOLDER, "infra/rbac", source),
);

/** The definition of Karpenter's NodeClaim, as far as announcements need it. */
export const NODE_CLAIM_DEFINITION: string = join(PROJECT_FOLDER, "src/emulators/harness/node-claims.yaml");

/** Policies that limit each identity to its own work. */
export const ADMISSION_POLICIES: string = join(PROJECT_FOLDER, "infra/admission");

/** A real API server with its etcd, and what only a real one offers. */
export interface KubeApiserver extends ControlPlane {
  readonly kind: "kube-apiserver";
  /** Returns the same requests as `record`, with the messages of rejections. */
  auditLog(): Promise<readonly AuditRecord[]>;
  /** Returns the file with the token of a user given in `users`. */
  tokenFileOf(name: string): string;
  /** Applies further manifests, as admin. */
  apply(path: string): Promise<void>;
  /** Returns the current process IDs; 0 for a stopped server. */
  pids(): { readonly kubeApiserver: number; readonly etcd: number };
  /** Makes etcd forget its history; earlier watches are too old once the API server has restarted. */
  compact(): Promise<void>;
}

/**
 * Starts etcd and kube-apiserver on free ports of 127.0.0.1, with RBAC, an audit log and tokens, and applies
 * the manifests. Rejects with the end of the log of the program that failed. None of its processes outlives
 * this one.
 */
export async function startKubeApiserver(options: KubeApiserverOptions): Promise<KubeApiserver> {
  const folder = resolve(options.folder);
  await mkdir(`${folder}/tokens`, { recursive: true, mode: 0o700 });
  const certificateAuthorityFile = `${folder}/ca.crt`;
  const certificateAuthority = await writeCertificates(folder, certificateAuthorityFile);
  const tokens = await writeTokens(folder, options.users ?? []);
  const etcd = await startEtcd({ folder, etcd: options.binaries.etcd, etcdutl: options.binaries.etcdutl });
  const port = await findFreePort();
  const server = `https://127.0.0.1:${port}`;
  const admin = connect({
    server,
    certificateAuthority,
    authorization: async () => `Bearer ${tokens.get("admin")}`,
  });
  const audit = openAuditLog(`${folder}/audit.log`);
  const tokenFileOf = (name: string): string => `${folder}/tokens/${name}`;
  let running: ManagedProcess | undefined;
  let backups = 0;

  const startServer = async (): Promise<void> => {
    if (running !== undefined) return;
    const flags = [...buildFlags(folder, port, etcd), ...(options.flags ?? [])];
    running = startProcess(options.binaries.kubeApiserver, flags, {
      logFile: `${folder}/kube-apiserver.log`,
    });
    await waitUntilReady(running, admin, server);
  };
  const stopServer = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> => {
    const stopping = running;
    running = undefined;
    await stopping?.stop(signal);
  };
  const close = async (): Promise<void> => {
    await admin.close();
    await stopServer("SIGKILL");
    await etcd.close();
  };

  try {
    await startServer();
    for (const path of options.manifests ?? OUR_MANIFESTS) await applyManifests(admin, path);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: "kube-apiserver",
    server,
    certificateAuthorityFile,
    tokenFile: tokenFileOf,
    tokenFileOf,
    kubeconfig: async (user) => {
      const file = `${folder}/${user}.kubeconfig`;
      const cluster = { cluster: "kube-apiserver", server, certificateAuthorityFile };
      await writeKubeconfig(file, { ...cluster, user, tokenFile: tokenFileOf(user) });
      return file;
    },
    record: () => audit.read(),
    auditLog: () => audit.read(),
    apply: (path) => applyManifests(admin, path),
    pids: () => ({ kubeApiserver: running?.pid ?? 0, etcd: etcd.pid() }),
    compact: () => etcd.compact(),
    stopServer,
    startServer,
    backup: async () => {
      backups += 1;
      const file = `${folder}/backup-${backups}.db`;
      await etcd.saveSnapshot(file);
      return file;
    },
    restore: async (backup) => {
      await stopServer("SIGKILL");
      await etcd.restore(backup);
      await startServer();
    },
    close,
  };
}

const START_TIMEOUT_MS = 60_000;

function buildFlags(folder: string, port: number, etcd: Etcd): readonly string[] {
  return [
    `--etcd-servers=${etcd.url}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${folder}/server.crt`,
    `--tls-private-key-file=${folder}/server.key`,
    "--authorization-mode=RBAC",
    `--token-auth-file=${folder}/tokens.csv`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${folder}/service-accounts.crt`,
    `--service-account-signing-key-file=${folder}/service-accounts.key`,
    // No controller manager exists that would create the accounts.
    "--disable-admission-plugins=ServiceAccount",
    "--service-cluster-ip-range=10.0.0.0/24",
    // The API server's own Service is unused here, and a loopback address is rejected as an endpoint.
    "--endpoint-reconciler-type=none",
    `--audit-policy-file=${folder}/audit-policy.json`,
    `--audit-log-path=${folder}/audit.log`,
    "--audit-log-mode=blocking",
    // One file: a rotated one would have to be found.
    "--audit-log-maxsize=0",
  ];
}

async function writeCertificates(folder: string, certificateAuthorityFile: string): Promise<string> {
  const authority = await createCertificateAuthority();
  const [server, signer] = [await authority.issueServer(), await authority.issueSigner("service-accounts")];
  await writeFile(certificateAuthorityFile, authority.certificate);
  await writeFile(`${folder}/server.crt`, server.certificate);
  await writeFile(`${folder}/server.key`, server.key, { mode: 0o600 });
  await writeFile(`${folder}/service-accounts.crt`, signer.certificate);
  await writeFile(`${folder}/service-accounts.key`, signer.key, { mode: 0o600 });
  await writeFile(`${folder}/audit-policy.json`, JSON.stringify(AUDIT_POLICY));
  return authority.certificate;
}

/** Tokens by file name: the keys of CONTROL_PLANE_USERS, and the names of further users. */
async function writeTokens(
  folder: string,
  further: readonly ControlPlaneUser[],
): Promise<ReadonlyMap<string, string>> {
  const users = [
    ...Object.entries(CONTROL_PLANE_USERS),
    ...further.map((user) => [user.name, user] as const),
  ];
  const tokens = new Map<string, string>();
  const lines: string[] = [];
  for (const [key, { name, groups }] of users) {
    const token = randomBytes(24).toString("base64url");
    tokens.set(key, token);
    lines.push(`${token},${name},${name},"${groups.join(",")}"\n`);
    await writeFile(`${folder}/tokens/${key}`, token, { mode: 0o600 });
  }
  await writeFile(`${folder}/tokens.csv`, lines.join(""), { mode: 0o600 });
  return tokens;
}

async function waitUntilReady(
  process: ManagedProcess,
  admin: ReturnType<typeof connect>,
  server: string,
): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const answer = await admin.send({ method: "GET", path: "/readyz" }).catch(() => undefined);
    if (answer?.status === 200) return;
    if (process.hasExited() || performance.now() > deadline) {
      await process.stop("SIGKILL");
      const said = answer === undefined ? "did not answer" : `answered ${answer.status}: ${answer.body}`;
      throw new Error(`kube-apiserver at ${server} is not ready, /readyz ${said}\n${process.output()}`);
    }
    await sleep(50);
  }
}

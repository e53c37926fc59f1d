import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";

/** The store of a control plane: one member, on 127.0.0.1, without TLS and without disk synchronization. */
export interface Etcd {
  /** For --etcd-servers; unchanged after `restore`. */
  readonly url: string;
  /** Returns the process ID of the running member. */
  pid(): number;
  /** Saves a consistent snapshot, as `etcdctl snapshot save` does, from the running member. */
  saveSnapshot(file: string): Promise<void>;
  /** Ends the member and starts it again from a snapshot; revisions go back with it. */
  restore(snapshot: string): Promise<void>;
  /** Forgets history up to now. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface EtcdOptions {
  /** For data and log; it must exist. */
  readonly folder: string;
  readonly etcd: string;
  /** Only `restore` needs it. */
  readonly etcdutl?: string | undefined;
}

/** Starts etcd and resolves when it answers; otherwise rejects with the end of its log. */
export async function startEtcd(options: EtcdOptions): Promise<Etcd> {
  const { folder } = options;
  const [clientPort, peerPort] = [await findFreePort(), await findFreePort()];
  const url = `http://127.0.0.1:${clientPort}`;
  const member = ["--initial-cluster", `default=http://127.0.0.1:${peerPort}`];
  member.push("--initial-advertise-peer-urls", `http://127.0.0.1:${peerPort}`);
  let dataFolder = `${folder}/etcd`;
  let restores = 0;

  const start = async (): Promise<ManagedProcess> => {
    const args = [
      "--name",
      "default",
      "--data-dir",
      dataFolder,
      "--unsafe-no-fsync",
      "--logger",
      "zap",
      ...member,
    ];
    args.push("--listen-client-urls", url, "--advertise-client-urls", url);
    args.push("--listen-peer-urls", `http://127.0.0.1:${peerPort}`, "--log-level", "warn");
    const process = startProcess(options.etcd, args, { logFile: `${folder}/etcd.log` });
    await waitUntilHealthy(process, url);
    return process;
  };
  let running = await start();
  return {
    url,
    pid: () => running.pid,
    saveSnapshot: (file) => saveSnapshot(url, file),
    restore: async (snapshot) => {
      if (options.etcdutl === undefined) throw new Error("restoring etcd needs etcdutl, which is missing");
      await running.stop("SIGKILL");
      restores += 1;
      dataFolder = `${folder}/etcd-restored-${restores}`;
      const args = [
        "snapshot",
        "restore",
        snapshot,
        "--name",
        "default",
        "--data-dir",
        dataFolder,
        ...member,
      ];
      const restoring = startProcess(options.etcdutl, args);
      const code = await restoring.exited;
      if (code !== 0)
        throw new Error(`etcdutl could not restore ${snapshot} (${code}):\n${restoring.output()}`);
      running = await start();
    },
    compact: async () => {
      const { header } = await callGateway(url, "/v3/kv/range", {
        key: toBase64("\0"),
        limit: 1,
        keys_only: true,
      });
      await callGateway(url, "/v3/kv/compaction", { revision: header?.revision, physical: true });
    },
    close: () => running.stop("SIGKILL"),
  };
}

const START_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 10_000;

async function waitUntilHealthy(process: ManagedProcess, url: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!(await isHealthy(url))) {
    if (process.hasExited() || performance.now() > deadline) {
      await process.stop("SIGKILL");
      throw new Error(`etcd did not become healthy at ${url}:\n${process.output()}`);
    }
    await sleep(20);
  }
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

/** The fields that are read in the answers of etcd's JSON gateway. */
interface GatewayAnswer {
  readonly header?: { readonly revision: string };
}

async function callGateway(url: string, path: string, body: unknown): Promise<GatewayAnswer> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const answer = await fetch(url + path, { method: "POST", body: JSON.stringify(body), signal });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`etcd answered ${answer.status} to ${path}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as GatewayAnswer;
}

/** The gateway streams the snapshot as lines of JSON, with etcdutl's checksum at its end. */
async function saveSnapshot(url: string, file: string): Promise<void> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const answer = await fetch(`${url}/v3/maintenance/snapshot`, { method: "POST", body: "{}", signal });
  if (!answer.ok) throw new Error(`etcd answered ${answer.status} to a snapshot`);
  const handle = await open(file, "w", 0o600);
  try {
    for (const line of (await answer.text()).split("\n")) {
      if (line === "") continue;
      const { result } = JSON.parse(line) as { readonly result?: { readonly blob?: string } };
      if (result === undefined) throw new Error(`etcd ended a snapshot with ${line.slice(0, 300)}`);
      await handle.write(Buffer.from(result.blob ?? "", "base64"));
    }
  } finally {
    await handle.close();
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString("base64");
}

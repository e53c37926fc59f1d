import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Behaviours, type Failure } from "#emulators/api-server/behaviours.ts";
import { type HandlerContext, handleRequest } from "#emulators/api-server/handler.ts";
import { type Listener, startListener } from "#emulators/api-server/listener.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Verb } from "#emulators/api-server/request-info.ts";
import { findResource, NAMESPACES } from "#emulators/api-server/resources.ts";
import { Store, type StoreDump } from "#emulators/api-server/store.ts";
import type { OpenWatch } from "#emulators/api-server/watch.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import {
  CONTROL_PLANE_USERS,
  type ControlPlane,
  type ControlPlaneUser,
  type ControlPlaneUsers,
  type RequestRecord,
} from "#emulators/harness/control-plane.ts";
import { writeKubeconfig } from "#emulators/harness/kubeconfig.ts";

/** The options of an embedded control plane. */
export interface EmbeddedOptions {
  /** For all its files; created if missing. */
  readonly folder: string;
  /** Default: a free one. */
  readonly port?: number;
  /** Milliseconds; default: kube-apiserver's about 60,000. */
  readonly bookmarkIntervalMs?: number;
  /** Writes remembered for watches and old lists; default: 10,000. */
  readonly historyLimit?: number;
  readonly now?: () => Date;
  /** The listener; default: an honest server's. */
  readonly listen?: typeof startListener;
}

/** Effects that a real server causes at its own times, and that a test can request. */
export interface EmbeddedControl {
  /** Ends all watches, as their time-out does. */
  endWatches(): void;
  /** Returns the number of open watches. */
  openWatches(): number;
  /** Forgets all history: watches from before now are too old, continue tokens expired. */
  compact(): void;
  /** Expires only the continue tokens given out so far. */
  expireContinueTokens(): void;
  /** Forgets only the changes from which watches can start. */
  forgetChanges(): void;
  /** Sets whether an expired watch gets an ERROR event (as on a real server) or HTTP 410. */
  answerExpiredWatchesWith(form: "event" | "status"): void;
  /** Waits before every request. */
  delayRequests(delayMs: number): void;
  /**
   * Answers the next requests of some verbs (default: writes) with an error in place of carrying them out.
   */
  failNext(failure: Failure): void;
  /**
   * Carries out the next requests of some verbs (default: writes) and breaks their streams in place of
   * answering.
   */
  loseAnswers(times: number, verbs?: readonly Verb[]): void;
  /** Breaks all connections and, while true, every new one. */
  resetConnections(on: boolean): void;
  /** Sends GOAWAY on all connections. */
  goAway(): void;
}

/** A control plane that runs within this process. */
export interface EmbeddedControlPlane extends ControlPlane {
  readonly kind: "embedded";
  readonly control: EmbeddedControl;
}

/** Starts an API server with an empty store in this process: TLS, HTTP/2 and HTTP/1.1, on 127.0.0.1. */
export async function startEmbeddedControlPlane(options: EmbeddedOptions): Promise<EmbeddedControlPlane> {
  const folder = resolve(options.folder);
  const now = options.now ?? (() => new Date());
  const certificateAuthorityFile = `${folder}/ca.crt`;
  await mkdir(`${folder}/tokens`, { recursive: true, mode: 0o700 });
  const authority = await createCertificateAuthority();
  const certificate = await authority.issueServer();
  await writeFile(certificateAuthorityFile, authority.certificate);
  const users = await writeTokens(folder);
  const store = new Store(options.historyLimit ?? 10_000);
  createNamespaces(store, now());
  const behaviours = new Behaviours(options.bookmarkIntervalMs ?? 60_000);
  const watches = new Set<OpenWatch>();
  const records: RequestRecord[] = [];
  const record = (entry: RequestRecord): void => {
    if (records.push(entry) > MAX_RECORDS) records.splice(0, MAX_RECORDS / 10);
  };
  const context: HandlerContext = { store, behaviours, users, watches, record, now };
  const listenOn = options.listen ?? startListener;
  const open = (port: number): Promise<Listener> =>
    listenOn(port, certificate, (request, answer) => void handleRequest(context, request, answer));
  let listener = await open(options.port ?? 0);
  let running = true;
  let backups = 0;
  const { port } = listener;
  const server = `https://127.0.0.1:${port}`;
  const endWatches = (): void => {
    for (const watch of watches) watch.end();
  };
  const stopServer = async (signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> => {
    if (!running) return;
    running = false;
    if (signal === "SIGTERM") endWatches();
    await listener.close(signal === "SIGTERM" ? STOP_GRACE_MS : 0);
  };
  const startServer = async (): Promise<void> => {
    if (running) return;
    // The watch cache of a restarted server knows no earlier changes.
    store.forgetChanges();
    listener = await open(port);
    running = true;
  };
  return {
    kind: "embedded",
    server,
    certificateAuthorityFile,
    tokenFile: (user) => getTokenFile(folder, user),
    kubeconfig: async (user) => {
      const file = `${folder}/${user}.kubeconfig`;
      const entry = { cluster: "embedded", user, server, certificateAuthorityFile };
      await writeKubeconfig(file, { ...entry, tokenFile: getTokenFile(folder, user) });
      return file;
    },
    record: async () => [...records],
    stopServer,
    startServer,
    backup: async () => {
      backups += 1;
      const file = `${folder}/backup-${backups}.json`;
      await writeFile(file, JSON.stringify(store.dump()), { mode: 0o600 });
      return file;
    },
    restore: async (backup) => {
      const dump = JSON.parse(await readFile(backup, "utf8")) as StoreDump;
      await stopServer("SIGKILL");
      store.load(dump, (name) => findResource(name) ?? throwUnknownResource(name));
      await startServer();
    },
    close: () => stopServer("SIGKILL"),
    control: {
      endWatches,
      openWatches: () => watches.size,
      compact: () => {
        store.compact();
        store.forgetChanges();
      },
      expireContinueTokens: () => store.compact(),
      forgetChanges: () => store.forgetChanges(),
      answerExpiredWatchesWith: (form) => {
        behaviours.expiredAs = form;
      },
      delayRequests: (delayMs) => {
        behaviours.delayMs = delayMs;
      },
      failNext: (failure) => behaviours.failNext(failure),
      loseAnswers: (times, verbs) => behaviours.loseAnswers(times, verbs),
      resetConnections: (on) => listener.resetConnections(on),
      goAway: () => listener.goAway(),
    },
  };
}

/** The number of remembered requests; above it the oldest tenth is forgotten. */
const MAX_RECORDS = 1_000_000;

/** How long a stopping server waits for open requests. */
const STOP_GRACE_MS = 1000;

function getTokenFile(folder: string, user: keyof ControlPlaneUsers): string {
  return `${folder}/tokens/${user}`;
}

async function writeTokens(folder: string): Promise<ReadonlyMap<string, ControlPlaneUser>> {
  const users = new Map<string, ControlPlaneUser>();
  for (const user of Object.keys(CONTROL_PLANE_USERS) as (keyof ControlPlaneUsers)[]) {
    const token = randomBytes(24).toString("base64url");
    await writeFile(getTokenFile(folder, user), token, { mode: 0o600 });
    users.set(token, CONTROL_PLANE_USERS[user]);
  }
  return users;
}

function createNamespaces(store: Store, now: Date): void {
  for (const name of ["default", "kube-system"]) {
    const namespace: StoredObject = {
      metadata: {
        name,
        uid: randomUUID(),
        resourceVersion: "",
        creationTimestamp: `${now.toISOString().slice(0, 19)}Z`,
        labels: { "kubernetes.io/metadata.name": name },
      },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    };
    store.put(NAMESPACES, name, namespace);
  }
}

function throwUnknownResource(name: string): never {
  throw new Error(`the backup holds ${name}, which this server does not know: was it made by another one?`);
}

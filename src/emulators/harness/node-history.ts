import { LABEL_PAIRS } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * The history of one node, from the API server's own watch. Times are milliseconds of `performance.now()`.
 */
export interface NodeRecord {
  readonly name: string;
  readonly uid: string;
  readonly addedAt: number;
  /** When the first version without the uninitialized taint arrived. */
  schedulableAt: number | undefined;
  /** A version was seen with neither the taint nor an InternalIP or ExternalIP. */
  naked: boolean;
  deleted: boolean;
  versions: number;
  latest: Node;
  /**
   * Every seen value of the fields that are written once: the provider ID, and each label of type, zone and
   * region.
   */
  readonly written: Readonly<Record<string, Set<string>>>;
}

/** Every version of every node from the start of the history on. */
export interface NodeHistory {
  /** By uid. */
  readonly records: ReadonlyMap<string, NodeRecord>;
  /** How many of them have been schedulable. */
  readonly schedulable: number;
  /** Why versions may be missing, if the watch could not be resumed without a gap. */
  readonly hole: string | undefined;
  /**
   * Resolves when `done` returns true, which is checked after every change; rejects after `timeoutMs` with
   * `what`.
   */
  until(what: string, done: () => boolean, timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Watches all nodes from now on, as a witness. It resumes ended watches at once from the last seen version; a
 * watch that cannot be resumed is a hole, never a new list.
 */
export async function recordNodeHistory(transport: Transport): Promise<NodeHistory> {
  const records = new Map<string, NodeRecord>();
  const waiting = new Set<() => void>();
  const stopped = new AbortController();
  let hole: string | undefined;
  let schedulable = 0;
  let version = await readCurrentVersion(transport);

  function take(line: string): void {
    const event = JSON.parse(line);
    if (event.type === "ERROR") {
      hole = JSON.stringify(event.object).slice(0, 300);
      return;
    }
    version = String(event.object.metadata.resourceVersion);
    if (event.type !== "BOOKMARK") schedulable += noteVersion(records, event.type, event.object);
    for (const look of waiting) look();
  }

  async function watch(): Promise<void> {
    while (!stopped.signal.aborted && hole === undefined) {
      try {
        const path = `/api/v1/nodes?watch=1&allowWatchBookmarks=true&resourceVersion=${version}&timeoutSeconds=300`;
        const stream = await transport.stream({ method: "GET", path, signal: stopped.signal });
        if (stream.status === 410) hole = "the watch could not be resumed: 410";
        if (stream.status !== 200) await pause(50);
        else for await (const line of readLines(stream.body)) take(line);
      } catch {
        await pause(50);
      }
    }
  }

  const watching = watch();
  return {
    records,
    get hole() {
      return hole;
    },
    get schedulable() {
      return schedulable;
    },
    until: (what, done, timeoutMs) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void): void => {
          clearTimeout(timer);
          waiting.delete(look);
          settle();
        };
        const look = (): void => {
          if (done()) finish(resolve);
        };
        const timer = setTimeout(
          () => finish(() => reject(new Error(`waited ${timeoutMs / 1000} s for ${what}`))),
          timeoutMs,
        );
        waiting.add(look);
        look();
      }),
    close: async () => {
      stopped.abort();
      await watching;
    },
  };
}

const PROVIDER_ID = "spec.providerID";
const WRITTEN_ONCE = [PROVIDER_ID, ...LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable])];

/**
 * Returns 1 for the first schedulable version of a node, otherwise 0. It trusts the server's nodes without
 * validation: a witness must not load the machine that it watches.
 */
function noteVersion(records: Map<string, NodeRecord>, type: string, node: Node): 0 | 1 {
  const { name, uid } = node.metadata;
  const now = performance.now();
  const record = records.get(uid) ?? {
    name,
    uid,
    addedAt: now,
    schedulableAt: undefined,
    naked: false,
    deleted: false,
    versions: 0,
    latest: node,
    written: Object.fromEntries(WRITTEN_ONCE.map((key) => [key, new Set<string>()])),
  };
  records.set(uid, record);
  record.versions += 1;
  record.latest = node;
  record.deleted = type === "DELETED";
  for (const key of WRITTEN_ONCE) {
    const value = key === PROVIDER_ID ? node.spec.providerID : node.metadata.labels?.[key];
    if (value !== undefined) record.written[key]?.add(value);
  }
  if (isUninitialized(node) || record.deleted) return 0;
  const isFirst = record.schedulableAt === undefined;
  record.schedulableAt ??= now;
  record.naked ||= !node.status.addresses?.some(
    ({ type: kind }) => kind === "InternalIP" || kind === "ExternalIP",
  );
  return isFirst ? 1 : 0;
}

async function readCurrentVersion(transport: Transport): Promise<string> {
  const answer = await transport.send({ method: "GET", path: "/api/v1/nodes?limit=1" });
  if (answer.status !== 200)
    throw new Error(`listing nodes answered ${answer.status}: ${answer.body.slice(0, 300)}`);
  return String(JSON.parse(answer.body).metadata.resourceVersion);
}

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts.filter((part) => part !== "");
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

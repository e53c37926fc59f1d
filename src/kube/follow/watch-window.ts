import { withQuery } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { createGatheredBytes } from "#kube/client/byte-buffer.ts";
import type { LimitName } from "#kube/client/errors.ts";
import { hasMoreValues, MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import type { ApiStream, Transport } from "#kube/client/transport.ts";
import { DEFAULT_BOUNDS } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import {
  limitMet,
  type RequestFailure,
  toErrorFailure,
  toRequestFailure,
} from "#kube/follow/request-failure.ts";

/** Why a watch request ended. */
export type WindowEnd =
  /** The server or the connection ended it: the watch can resume from the last version seen. */
  | { readonly kind: "ended" }
  | { readonly kind: "lost"; readonly failure: RequestFailure }
  /** It was opened on a connection that the caller rejects. */
  | { readonly kind: "reconnected" }
  /** No data arrived for `SILENCE_MS`. */
  | { readonly kind: "silent" }
  /** The server no longer knows the version (410, in either form). */
  | { readonly kind: "gone" }
  /** The version is newer than the server's newest. */
  | { readonly kind: "ahead" }
  /** A line cannot be read, so its content is lost. */
  | { readonly kind: "rubbish"; readonly message: string }
  /** Its data exceed a limit. */
  | { readonly kind: "limited"; readonly failure: RequestFailure }
  /** The server refused, by the status or by an ERROR event. */
  | { readonly kind: "refused"; readonly failure: RequestFailure };

/** A watch event with an unvalidated object. */
export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: Readonly<Record<string, unknown>>;
}

export interface WindowOptions {
  readonly transport: Transport;
  readonly path: string;
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Receives the connection, if known; returns false to end the watch before any data are read. */
  readonly onOpen: (connection: object | undefined) => boolean;
  /** Called whenever data arrive. */
  readonly onHeard?: (() => void) | undefined;
  /** Returns why the watch must end, if so. */
  readonly onEvent: (event: WatchEvent) => RequestFailure | undefined;
  readonly maxLineBytes: number;
  /** Called before a line of this many characters is read; returns what to await first, if anything. */
  readonly admit: (characters: number) => Promise<void> | undefined;
  /** Whether the received data are so late that a new watch is better. */
  readonly isLate: () => boolean;
}

/**
 * Silence for this long ends a watch: bookmarks come about every minute, and a PING only proves that the
 * connection lives.
 */
export const SILENCE_MS = 90_000;

/** How far a server may exceed its own timeoutSeconds. */
const OVERRUN_MS = 30_000;

/** Runs one watch request from its opening to its end. Never rejects. */
export async function watchWindow(options: WindowOptions): Promise<WindowEnd> {
  const { clock, timeoutSeconds } = options;
  let stream: ApiStream;
  try {
    stream = await options.transport.stream({
      method: "GET",
      path: buildWatchPath(options),
      signal: options.signal,
    });
  } catch (error) {
    return { kind: "lost", failure: toErrorFailure(error) };
  }
  let stopped: WindowEnd | undefined;
  const stop = (end: WindowEnd): void => {
    stopped ??= end;
    stream.close();
  };
  const onSilence = (): void => stop({ kind: "silent" });
  let cancelSilence = clock.after(SILENCE_MS, onSilence);
  const cancelOverrun = clock.after(timeoutSeconds * 1000 + OVERRUN_MS, () => stop({ kind: "ended" }));
  const heard = (): void => {
    cancelSilence();
    cancelSilence = clock.after(SILENCE_MS, onSilence);
  };
  try {
    if (stream.status !== 200) return toWindowEnd(stream, await readFirstText(stream));
    if (!options.onOpen(stream.connection)) return { kind: "reconnected" };
    const end = await readEvents(stream, heard, () => stopped !== undefined, options);
    if (end.kind === "limited") stream.close(WITH_CONNECTION);
    return stopped ?? end;
  } catch (error) {
    if (stopped !== undefined) return stopped;
    const failure = toBodyFailure(error);
    if (failure.code !== "ClusterLimited") return { kind: "lost", failure };
    stream.close(WITH_CONNECTION);
    return { kind: "limited", failure };
  } finally {
    cancelSilence();
    cancelOverrun();
    stream.close();
  }
}

/** A server that exceeds a limit continues to send after a reset. */
const WITH_CONNECTION = { connection: true };

function toBodyFailure(error: unknown): RequestFailure {
  if (error instanceof LineTooLarge) return limitMet(error.limit, error.message);
  const failure = toErrorFailure(error);
  return failure.excess === "pieces" ? limitMet("watchPieces", failure.message) : failure;
}

function buildWatchPath({ path, resourceVersion, timeoutSeconds }: WindowOptions): string {
  const version = encodeURIComponent(resourceVersion);
  return withQuery(
    path,
    `watch=1&allowWatchBookmarks=true&resourceVersion=${version}&timeoutSeconds=${timeoutSeconds}`,
  );
}

async function readEvents(
  stream: ApiStream,
  heard: () => void,
  isStopped: () => boolean,
  options: WindowOptions,
): Promise<WindowEnd> {
  const split = createLineSplitter(options.maxLineBytes);
  for await (const piece of stream.body) {
    heard();
    options.onHeard?.();
    for (const line of split(piece)) {
      const wait = options.admit(line.length);
      if (wait !== undefined) {
        await wait;
        // The pause was ours, not the server's.
        heard();
        if (options.isLate()) return { kind: "ended" };
      }
      // After a close, buffered data are discarded.
      if (options.signal.aborted || isStopped()) return { kind: "ended" };
      if (line === "") continue;
      const parsed = parseLine(line);
      if (parsed.kind !== "event") return parsed;
      const failure = options.onEvent(parsed.event);
      if (failure !== undefined) return { kind: "limited", failure };
    }
  }
  return { kind: "ended" };
}

type Line = { readonly kind: "event"; readonly event: WatchEvent } | WindowEnd;

function parseLine(line: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: "rubbish", message: `a line of ${line.length} characters is not JSON` };
  }
  if (!isRecord(value) || !isRecord(value["object"])) {
    return { kind: "rubbish", message: `a line of ${line.length} characters is not a watch event` };
  }
  const { type, object } = value;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return { kind: "event", event: { type, object } };
    case "ERROR":
      return parseErrorEvent(object, line);
    default:
      return {
        kind: "rubbish",
        message: `a watch event of unknown type ${typeof type === "string" ? `"${sanitizeText(type, 40)}"` : typeof type}`,
      };
  }
}

function parseErrorEvent(object: Readonly<Record<string, unknown>>, line: string): WindowEnd {
  const status = typeof object["code"] === "number" ? object["code"] : 500;
  if (status === 410 || object["reason"] === "Expired" || object["reason"] === "Gone")
    return { kind: "gone" };
  if (line.includes(TOO_LARGE_VERSION)) return { kind: "ahead" };
  // Keep only the fields that are read: serializing a deeply nested object could exhaust the stack.
  const { message, reason } = object;
  const body = JSON.stringify({ message: getText(message), reason: getText(reason) });
  return { kind: "refused", failure: toRequestFailure({ status, headers: {}, body }) };
}

/** The cause that distinguishes kube-apiserver's 504 from others. */
const TOO_LARGE_VERSION = "ResourceVersionTooLarge";

function toWindowEnd(stream: ApiStream, body: string): WindowEnd {
  if (stream.status === 410) return { kind: "gone" };
  if (stream.status === 504 && body.includes(TOO_LARGE_VERSION)) return { kind: "ahead" };
  return {
    kind: "refused",
    failure: toRequestFailure({ status: stream.status, headers: stream.headers, body }),
  };
}

const MAX_REFUSAL_BYTES = 16_384;

async function readFirstText(stream: ApiStream): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stream.body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(pieces).toString("utf8");
}

function getText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A line of the stream exceeds the size limit. */
export class LineTooLarge extends Error {
  override readonly name = "LineTooLarge";
  readonly limit: LimitName;

  constructor(limit: LimitName, message: string) {
    super(message);
    this.limit = limit;
  }
}

/**
 * Creates a splitter of bytes into lines. It takes the next chunk and yields the complete lines lazily;
 * consume all before the next chunk. Characters may be split between chunks. Throws `LineTooLarge`; after
 * that the splitter must not be used again.
 */
export function createLineSplitter(
  maxBytes = DEFAULT_BOUNDS.watchLineBytes,
): (piece: Uint8Array) => Generator<string, void> {
  const rest = createGatheredBytes();

  return function* lines(piece) {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
      yield textOf(piece.subarray(start, end));
      start = end + 1;
    }
    keep(piece.subarray(start));
  };

  function textOf(end: Uint8Array): string {
    if (rest.length > 0) {
      keep(end);
      return decodeLine(rest.take());
    }
    bounded(end.length);
    return decodeLine(Buffer.from(end.buffer, end.byteOffset, end.byteLength));
  }

  function keep(piece: Uint8Array): void {
    bounded(rest.length + piece.length);
    if (piece.length > 0) rest.add(piece);
  }

  function bounded(bytes: number): void {
    if (bytes > maxBytes)
      throw new LineTooLarge("watchLineBytes", `a line of the watch is longer than ${maxBytes} bytes`);
  }
}

function decodeLine(line: Buffer): string {
  if (hasMoreValues(line, MAX_OBJECT_VALUES))
    throw new LineTooLarge(
      "watchLineValues",
      `a line of the watch has more than ${MAX_OBJECT_VALUES} JSON values`,
    );
  return line.toString("utf8");
}

const NEWLINE = 0x0a;

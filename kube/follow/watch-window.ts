import { withQuery } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";
import type { ApiStream, Transport } from "#kube/client/transport.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { failureOf, failureOfError, limitMet, type RequestFailure } from "#kube/follow/request-failure.ts";
import { createLineSplitter, LineTooLarge } from "#kube/follow/watch-lines.ts";

/** Why one watch request ended. */
export type WindowEnd =
  /** By the server, or by its connection: the watch can go on from the last version seen. */
  | { readonly kind: "ended" }
  | { readonly kind: "lost"; readonly failure: RequestFailure }
  /** It was opened on a connection that the caller would not go on with. */
  | { readonly kind: "reconnected" }
  /** Nothing at all was heard for `SILENCE_MS`. */
  | { readonly kind: "silent" }
  /** The server does not know the version any more (410, in either form). */
  | { readonly kind: "gone" }
  /** The version is from the server's future. */
  | { readonly kind: "ahead" }
  /** A line that cannot be read: what it said is lost. */
  | { readonly kind: "rubbish"; readonly message: string }
  /** It brought more than a limit allows. */
  | { readonly kind: "limited"; readonly failure: RequestFailure }
  /** The server refused, at the door or by an ERROR event. */
  | { readonly kind: "refused"; readonly failure: RequestFailure };

/** An event of a watch, with an object that is only known to be one. */
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
  /** Told the connection, where that is known; false ends the watch before anything of it is read. */
  readonly onOpen: (connection: object | undefined) => boolean;
  /** Called whenever anything arrives. */
  readonly onHeard?: (() => void) | undefined;
  /** Answers with why the watch is to be ended, if it is. */
  readonly onEvent: (event: WatchEvent) => RequestFailure | undefined;
  readonly maxLineBytes: number;
  /** Asked before a line of so many characters is read: what is to be awaited first, if anything. */
  readonly admit: (characters: number) => Promise<void> | undefined;
  /** Whether what was received already is so late that it is better asked for anew. */
  readonly isLate: () => boolean;
}

/** Silence for this long ends a watch: bookmarks come about every minute, and PING only tells that the connection lives. */
export const SILENCE_MS = 90_000;

/** What a server may overrun its own timeoutSeconds by. */
const OVERRUN_MS = 30_000;

/** One watch request, from its opening to its end, whatever that is. Never rejects. */
export async function watchWindow(options: WindowOptions): Promise<WindowEnd> {
  const { clock, timeoutSeconds } = options;
  let stream: ApiStream;
  try {
    stream = await options.transport.stream({ method: "GET", path: pathOf(options), signal: options.signal });
  } catch (error) {
    return { kind: "lost", failure: failureOfError(error) };
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
    if (stream.status !== 200) return refusal(stream, await firstWords(stream));
    if (!options.onOpen(stream.connection)) return { kind: "reconnected" };
    const end = await readEvents(stream, heard, () => stopped !== undefined, options);
    if (end.kind === "limited") stream.close(WITH_CONNECTION);
    return stopped ?? end;
  } catch (error) {
    if (stopped !== undefined) return stopped;
    const failure = failureOfBody(error);
    if (failure.code !== "ClusterLimited") return { kind: "lost", failure };
    stream.close(WITH_CONNECTION);
    return { kind: "limited", failure };
  } finally {
    cancelSilence();
    cancelOverrun();
    stream.close();
  }
}

/** Whoever goes beyond a limit goes on sending after a reset. */
const WITH_CONNECTION = { connection: true };

function failureOfBody(error: unknown): RequestFailure {
  if (error instanceof LineTooLarge) return limitMet(error.limit, error.message);
  const failure = failureOfError(error);
  return failure.excess === "pieces" ? limitMet("watchPieces", failure.message) : failure;
}

function pathOf({ path, resourceVersion, timeoutSeconds }: WindowOptions): string {
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
        // It is we who did not read on.
        heard();
        if (options.isLate()) return { kind: "ended" };
      }
      // After a close, what is still in the buffers is nobody's any more.
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
    return { kind: "rubbish", message: `a line of ${line.length} characters is no watch event` };
  }
  const { type, object } = value;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return { kind: "event", event: { type, object } };
    case "ERROR":
      return errorOf(object, line);
    default:
      return {
        kind: "rubbish",
        message: `a watch event of unknown type ${typeof type === "string" ? `"${shown(type, 40)}"` : typeof type}`,
      };
  }
}

function errorOf(object: Readonly<Record<string, unknown>>, line: string): WindowEnd {
  const status = typeof object["code"] === "number" ? object["code"] : 500;
  if (status === 410 || object["reason"] === "Expired" || object["reason"] === "Gone")
    return { kind: "gone" };
  if (line.includes(TOO_LARGE_VERSION)) return { kind: "ahead" };
  // Of the object no more than what is read of it: whoever nests it deeply breaks whoever writes it out.
  const { message, reason } = object;
  const body = JSON.stringify({ message: text(message), reason: text(reason) });
  return { kind: "refused", failure: failureOf({ status, headers: {}, body }) };
}

/** The cause by which kube-apiserver tells this 504 from others. */
const TOO_LARGE_VERSION = "ResourceVersionTooLarge";

function refusal(stream: ApiStream, body: string): WindowEnd {
  if (stream.status === 410) return { kind: "gone" };
  if (stream.status === 504 && body.includes(TOO_LARGE_VERSION)) return { kind: "ahead" };
  return { kind: "refused", failure: failureOf({ status: stream.status, headers: stream.headers, body }) };
}

const MAX_REFUSAL_BYTES = 16_384;

async function firstWords(stream: ApiStream): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stream.body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= MAX_REFUSAL_BYTES) break;
  }
  return Buffer.concat(pieces).toString("utf8");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

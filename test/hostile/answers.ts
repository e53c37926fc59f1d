import type { ServerHttp2Stream } from "node:http2";
import type { HostileCall } from "#test/hostile/attack.ts";
import { pour, pourBody } from "#test/hostile/pour.ts";

const JSON_HEADERS = { ":status": 200, "content-type": "application/json" } as const;

/** Begins an answer of JSON and leaves it open. */
export function beginAnswer({ stream }: HostileCall, headers: Record<string, string | number> = {}): boolean {
  if (!stream.destroyed) stream.respond({ ...JSON_HEADERS, ...headers });
  return true;
}

/** Answers with a whole body. */
export function answerWith(
  call: HostileCall,
  body: Buffer | string,
  headers: Record<string, string | number> = {},
): boolean {
  beginAnswer(call, headers);
  void pourBody(call.stream, typeof body === "string" ? Buffer.from(body) : body);
  return true;
}

/** Answers with what `next` makes, without an end unless it says so. */
export function answerEndlessly(
  call: HostileCall,
  next: (stream: ServerHttp2Stream) => Buffer | undefined,
): boolean {
  beginAnswer(call);
  void pour(call.stream, () => next(call.stream));
  return true;
}

/** A metav1.Status. */
export function statusBody(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}

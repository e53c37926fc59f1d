import type { ServerHttp2Stream } from "node:http2";
import type { HostileCall } from "#test/adversarial/attack.ts";
import { pour, pourBody } from "#test/adversarial/pour.ts";

const JSON_HEADERS = { ":status": 200, "content-type": "application/json" } as const;

/** Begins an answer of JSON and leaves it open. */
export function beginAnswer({ stream }: HostileCall, headers: Record<string, string | number> = {}): boolean {
  if (!stream.destroyed) stream.respond({ ...JSON_HEADERS, ...headers });
  return true;
}

/** Answers with a complete body. */
export function answerWith(
  call: HostileCall,
  body: Buffer | string,
  headers: Record<string, string | number> = {},
): boolean {
  beginAnswer(call, headers);
  void pourBody(call.stream, typeof body === "string" ? Buffer.from(body) : body);
  return true;
}

/** Answers with the output of `next`; endless unless `next` ends it. */
export function answerEndlessly(
  call: HostileCall,
  next: (stream: ServerHttp2Stream) => Buffer | undefined,
): boolean {
  beginAnswer(call);
  void pour(call.stream, () => next(call.stream));
  return true;
}

/** Returns a metav1.Status. */
export function formatStatusBody(code: number, reason: string, message: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message });
}

import { gzipSync } from "node:zlib";
import { answerWith } from "#test/adversarial/answers.ts";
import type { Attack } from "#test/adversarial/attack.ts";

/** Every list is one page of two million empty objects, 6 MB. */
export const pageOfEmptyObjects: Attack = () => {
  const body = emptyObjects(2_000_000);
  return { answer: (call) => call.kind === "list" && answerWith(call, body) };
};

/** Every list is 60 KB of gzip that expand to 60 MB of empty objects. */
export const gzipBomb: Attack = () => {
  const body = gzipSync(emptyObjects(20_000_000), { level: 9 });
  return {
    answer: (call) => call.kind === "list" && answerWith(call, body, { "content-encoding": "gzip" }),
  };
};

function emptyObjects(count: number): Buffer {
  const head = `{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`;
  return Buffer.concat([Buffer.from(head), Buffer.alloc(3 * (count - 1), "{},"), Buffer.from("{}]}")]);
}

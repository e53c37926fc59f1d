import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterAll, afterEach, inject } from "vitest";
import { EXCHANGES, type Exchange } from "#emulators/api-server/exchange.ts";
import { createExchangeJudge } from "#test/openapi/judge-exchanges.ts";

// Judges what an embedded API server answers, and what our functions and relays send to one, by the OpenAPI documents
// of a real server. They are cached (`test/openapi/documents.ts`). A violation fails the test during which it happens.
const folder = inject("openApiFolder");

if (folder !== null) {
  const judge = createExchangeJudge(folder);
  const onExchange = (exchange: unknown): void => judge.judge(exchange as Exchange);
  const failIfViolated = (): void => {
    const violations = judge.takeViolations();
    if (violations.length === 0) return;
    throw new Error(`OpenAPI of kube-apiserver does not allow:\n${violations.join("\n")}`);
  };
  subscribe(EXCHANGES, onExchange);
  afterEach(failIfViolated);
  afterAll(() => {
    unsubscribe(EXCHANGES, onExchange);
    failIfViolated();
  });
}
